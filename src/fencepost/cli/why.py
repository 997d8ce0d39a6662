"""`fencepost why`: the story of one tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.options import Place, ask, in_store, json_option, tz_option
from fencepost.cli.output import cell, print_json, shown_time

if TYPE_CHECKING:
    from fencepost.core.story import Story
    from fencepost.services.control import Control


@click.command()
@click.argument("name", metavar="ID|KEY")
@click.argument("fire_time", metavar="[TIME]", required=False)
@tz_option
@in_store
@json_option
def why(name: str, fire_time: str | None, tz: str | None, place: Place, as_json: bool) -> None:
    """Say in plain words why a tick ran or did not run, and what would change that.

    The tick is named by its schedule and its fire time, or by its run key alone.

    \b
    Example:
      fencepost why invoices 2026-03-01T00:00:00Z
      fencepost why invoices 2026-03-29T02:30 --tz Europe/Berlin
      fencepost why 'invoices#2026-03-01T00:00:00Z#3'
    """
    story = ask(place, lambda control: _story(control, name, fire_time, tz))
    if as_json:
        from fencepost.cli.account_shapes import story_json

        print_json(story_json(story))
        return
    what = story.schedule_id or name
    click.echo(f"{what} {shown_time(story.fire_time, tz)}: {story.verdict}")
    for sentence in story.sentences:
        click.echo(f"  {cell(sentence)}")
    for mend in story.mends:
        click.echo(mend)


async def _story(control: Control, name: str, fire_time: str | None, tz: str | None) -> Story:
    from fencepost.cli.reading import read_time
    from fencepost.errors import UsageError
    from fencepost.services.accounting import AuditDesk

    desk = AuditDesk(control.store, control.namespace)
    if fire_time is not None:
        return await desk.why(name, read_time("TIME", fire_time, tz))
    if "#" not in name:
        raise UsageError(f"why {name}: expected its fire time too, or the key of a run")
    return await desk.why_run(name)
