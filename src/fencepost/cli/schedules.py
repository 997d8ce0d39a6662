"""`fencepost schedules`: what runs when."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from fencepost.cli.options import Place, ask, in_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.spec_options import Given, describes_schedule
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.model.schedule import Schedule, ScheduleVersion
    from fencepost.services.control import Control

id_argument = click.argument("schedule_id", metavar="ID")


@click.group()
def schedules() -> None:
    """Look at schedules and change them.

    \b
    Example:
      fencepost schedules add hourly-eu --job report --every 1h --payload '{"region": "eu"}'
    """


@schedules.command("list")
@tz_option
@in_store
@json_option
def list_schedules(tz: str | None, place: Place, as_json: bool) -> None:
    """List all schedules that are not removed.

    \b
    Example:
      fencepost schedules list --json
    """
    from fencepost.cli.shapes import schedule_json

    found = ask(place, _all)
    if as_json:
        print_json([schedule_json(one) for one in found])
    elif found:
        from fencepost.cli.schedule_views import print_schedules

        print_schedules(found, tz)
    else:
        click.echo("no schedules", err=True)


@schedules.command()
@id_argument
@tz_option
@in_store
@json_option
def show(schedule_id: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one schedule, its next fire times, and what changes of the clocks do to them.

    \b
    Example:
      fencepost schedules show invoices --tz Europe/Berlin
    """
    from fencepost.cli.outlook import look_ahead

    outlook = ask(place, lambda control: look_ahead(control, schedule_id))
    if as_json:
        from fencepost.cli.shapes import outlook_json

        print_json(outlook_json(outlook))
    else:
        from fencepost.cli.schedule_views import print_outlook

        print_outlook(outlook, tz)


@schedules.command()
@id_argument
@describes_schedule
@in_store
@json_option
def add(schedule_id: str, given: Given, place: Place, as_json: bool) -> None:
    """Add a schedule; it plans from now on.

    \b
    Example:
      fencepost schedules add nightly --job backup --cron "30 2 * * *" --tz Europe/Berlin --spread 10m
      fencepost schedules add closing --job close --business-day -1 --at-time 18:00 --calendar de
    """
    from fencepost.cli.specs import new_spec

    spec = new_spec(given)
    added = ask(place, lambda control: control.schedules.add(schedule_id, spec))
    _report(added, f"added, version {added.version}", as_json)


@schedules.command()
@id_argument
@describes_schedule
@in_store
@json_option
def edit(schedule_id: str, given: Given, place: Place, as_json: bool) -> None:
    """Change what is given and leave the rest; ticks from now on follow the new version.

    A label without a value (--label team=) is taken away; so are a start, an end, a spread or a jitter that
    is `none`.

    \b
    Example:
      fencepost schedules edit nightly --cron "45 2 * * *" --spread none
    """
    if given.nothing:
        raise UsageError(f"schedule {schedule_id}: nothing to change; give at least one option")
    old_version, edited = ask(place, lambda control: _edit(control, schedule_id, given))
    said = f"version {edited.version}" if edited.version != old_version else "unchanged"
    _report(edited, said, as_json)


@schedules.command()
@id_argument
@in_store
@json_option
def pause(schedule_id: str, place: Place, as_json: bool) -> None:
    """Stop planning and withdraw what is planned.

    \b
    Example:
      fencepost schedules pause nightly
    """
    _report(ask(place, lambda control: _after("pause", control, schedule_id)), "paused", as_json)


@schedules.command()
@id_argument
@in_store
@json_option
def resume(schedule_id: str, place: Place, as_json: bool) -> None:
    """Plan again from now on; nothing of the pause fires.

    \b
    Example:
      fencepost schedules resume nightly
    """
    _report(ask(place, lambda control: _after("resume", control, schedule_id)), "active", as_json)


@schedules.command()
@id_argument
@in_store
@json_option
def remove(schedule_id: str, place: Place, as_json: bool) -> None:
    """Stop for good; the history stays.

    \b
    Example:
      fencepost schedules remove nightly
    """
    ask(place, lambda control: control.schedules.remove(schedule_id))
    if as_json:
        print_json({"schedule_id": schedule_id, "state": "removed"})
    else:
        click.echo(f"schedule {schedule_id}: removed")


@schedules.command()
@id_argument
@in_store
@json_option
def trigger(schedule_id: str, place: Place, as_json: bool) -> None:
    """Run one extra tick, now, and print its key.

    \b
    Example:
      fencepost schedules trigger nightly
    """
    run_key = ask(place, lambda control: control.schedules.trigger(schedule_id))
    if as_json:
        print_json({"run_key": run_key})
    else:
        click.echo(run_key)


@schedules.command()
@id_argument
@tz_option
@in_store
@json_option
def history(schedule_id: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Show all versions of a schedule and what each changed, also of a removed one.

    \b
    Example:
      fencepost schedules history nightly
    """
    from fencepost.cli.shapes import version_json

    versions = ask(place, lambda control: control.schedules.history(schedule_id))
    changed = _changes(versions)
    if as_json:
        print_json([version_json(one, said) for one, said in zip(versions, changed, strict=True)])
        return
    from fencepost.cli.schedule_views import print_version

    for one, said in zip(versions, changed, strict=True):
        print_version(schedule_id, one, said, tz)


async def _all(control: Control) -> list[Schedule]:
    return [one async for one in control.schedules.all()]


async def _edit(control: Control, schedule_id: str, given: Given) -> tuple[int, Schedule]:
    from fencepost.cli.specs import changed_spec

    old = await control.schedules.get(schedule_id)
    new = await control.schedules.edit(schedule_id, changed_spec(old.spec, given), old.version)
    return old.version, new


async def _after(verb: str, control: Control, schedule_id: str) -> Schedule:
    """The schedule as it stands after the verb."""
    desk = control.schedules
    await (desk.pause(schedule_id) if verb == "pause" else desk.resume(schedule_id))
    return await desk.get(schedule_id)


def _changes(versions: Sequence[ScheduleVersion]) -> list[list[str]]:
    from fencepost.cli.specs import changes

    return [[], *(changes(old.spec, new.spec) for old, new in pairwise(versions))]


def _report(schedule: Schedule, said: str, as_json: bool) -> None:
    from fencepost.cli.shapes import schedule_json

    if as_json:
        print_json(schedule_json(schedule))
    else:
        click.echo(f"schedule {schedule.schedule_id}: {said}")
