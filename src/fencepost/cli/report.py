"""`fencepost report`: what happened between two times, as a page for a post-mortem."""

from __future__ import annotations

import click

from fencepost.cli.audit import audited, options_named
from fencepost.cli.calling import calling
from fencepost.cli.options import Place, asks, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.reading import read_when
from fencepost.cli.report_facts import gathered
from fencepost.cli.report_page import page_of
from fencepost.operations.audit import AuditRequest


@click.command()
@click.option(
    "--from", "since", metavar="TIME", default="24h", show_default=True, help="Also a length of time ago."
)
@click.option(
    "--to", "until", metavar="TIME", default="0s", help="Also a length of time ago; now unless given."
)
@tz_option
@asks
@json_option
def report(since: str, until: str, tz: str | None, place: Place, as_json: bool) -> None:
    """Write a post-mortem page in Markdown: what fired, what was late, missed or dead, who led, who did what.

    Ticks and runs count by their fire times. Each list has up to 50 rows, and says how many more there are.
    Who led is known as far back as the ledger keeps terms.

    \b
    Example:
      fencepost report --from 2026-03-01T00:00:00Z --to 2026-03-01T06:00:00Z > post-mortem.md
    """
    first, last = read_when("--from", since, tz), read_when("--to", until, tz)
    with options_named():
        account = audited(place, AuditRequest(since=first, until=last))
    with calling(place) as caller:
        found = gathered(caller, account)
    if as_json:
        print_json(found)
    else:
        click.echo(page_of(found, tz), nl=False)
