"""`fencepost audit`: what was expected against what is recorded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import NO
from fencepost.cli.options import Place, ask, changes_store, json_option, tz_option
from fencepost.cli.output import print_json, print_table, shown_time

if TYPE_CHECKING:
    from fencepost.core.accounting import Account, Report
    from fencepost.model.identifiers import RunKey, ScheduleId
    from fencepost.services.control import Control

SHOWN_MAX = 100
SCHEDULES_SHOWN_MAX = 20
LONG_AFTER = 10


@click.command()
@click.argument("schedule_id", metavar="[ID]", required=False)
@click.option(
    "--from",
    "since",
    metavar="TIME",
    default="24h",
    show_default=True,
    help="Fire times from then on; also a length of time ago.",
)
@click.option(
    "--to", "until", metavar="TIME", default="0s", help="Up to this fire time; also a length of time ago."
)
@click.option("--repair", is_flag=True, help="Plan the ticks that are missing, by name.")
@tz_option
@changes_store
@json_option
@click.pass_context
def audit(
    context: click.Context,
    schedule_id: str | None,
    since: str,
    until: str,
    repair: bool,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Compare the ticks that a schedule's history asks for with what the ledger records, of one or of all.

    A tick is missing, doubled, unexpected, miscounted, uncertain (started, and its worker shows no life) or
    overdue (too late, and nobody judged it): then the exit code is 1. That one began late is only reported.
    What is repaired is due at its own time: lateness and catch-up decide whether it still runs.

    \b
    Example:
      fencepost audit
      fencepost audit invoices --from 2026-03-01 --to 2026-03-08 --repair --reason "rows were lost"
    """
    report, repaired = ask(place, lambda control: _audit(control, schedule_id, since, until, repair, tz))
    if as_json:
        from fencepost.cli.account_shapes import report_json

        print_json(report_json(report, repaired))
    else:
        _print_report(report, repaired, tz)
    if report.faults > len(repaired):
        context.exit(NO)


async def _audit(
    control: Control, schedule_id: str | None, since: str, until: str, repair: bool, tz: str | None
) -> tuple[Report, Sequence[RunKey]]:
    from datetime import datetime

    from fencepost.cli.reading import read_since
    from fencepost.errors import UsageError
    from fencepost.services.accounting import AuditDesk

    now = await control.store.now()
    # People mean the first fire time too; the range itself is open at its beginning.
    first = read_since("--from", since, tz, now) - datetime.resolution
    last = read_since("--to", until, tz, now)
    if last <= first:
        raise UsageError("--to: expected a time that is not before --from")
    desk = AuditDesk(control.store, control.namespace)
    with Tally() as tally:
        report = await desk.audit(schedule_id, first, last, tally.reached)
        return report, await desk.repair(report, control.author) if repair else ()


class Tally:
    """How far it is, on stderr where that is a terminal, once it takes long."""

    def __init__(self) -> None:
        self._calls = 0
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> Tally:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shows and self._calls > LONG_AFTER:
            click.echo("\r\033[K", nl=False, err=True)

    def reached(self, schedule_id: ScheduleId, runs: int) -> None:
        """One more page of runs was looked at."""
        self._calls += 1
        if self._shows and self._calls > LONG_AFTER:
            click.echo(f"\r\033[K{schedule_id}: {runs} runs", nl=False, err=True)


def _print_report(report: Report, repaired: Sequence[RunKey], tz: str | None) -> None:
    accounts = report.accounts
    if len(accounts) > SCHEDULES_SHOWN_MAX:
        accounts = tuple(one for one in accounts if one.counts)
    if accounts:
        _print_accounts(accounts)
        click.echo()
    _print_findings(report, tz)
    for one in report.accounts:
        for note in _notes(one, tz):
            click.echo(f"{one.schedule_id}: {note}")
    for key in repaired:
        click.echo(f"planned: {key}")
    share = f"{report.accounted / report.expected:.2%}" if report.expected else "all"
    found = ", ".join(f"{count} {kind}" for kind, count in report.counts.items()) or "no findings"
    click.echo(f"{report.expected} ticks expected, {share} accounted for: {found}")


def _print_accounts(accounts: Sequence[Account]) -> None:
    print_table(
        ("SCHEDULE", "EXPECTED", "ACCOUNTED", "SUCCEEDED", "COMPLETE", "FINDINGS"),
        [
            (
                one.schedule_id,
                one.expected,
                one.accounted,
                one.succeeded,
                f"{one.run_completeness:.2%}",
                ", ".join(f"{count} {kind}" for kind, count in one.counts.items()),
            )
            for one in accounts
        ],
    )


def _print_findings(report: Report, tz: str | None) -> None:
    findings = [finding for account in report.accounts for finding in account.findings]
    if not findings:
        return
    rows = [
        (one.kind, one.schedule_id, shown_time(one.fire_time, tz), one.words) for one in findings[:SHOWN_MAX]
    ]
    print_table(("FINDING", "SCHEDULE", "FIRE TIME", "WHAT"), rows)
    more = sum(report.counts.values()) - len(rows)
    if more:
        click.echo(f"and {more} more; see --json")
    click.echo()


def _notes(account: Account, tz: str | None) -> list[str]:
    if account.forgotten_before is None:
        return list(account.notes)
    since = shown_time(account.forgotten_before, tz)
    return [f"retention may have removed ticks before {since}: they were not judged", *account.notes]
