"""`fencepost audit`: what was expected against what is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from fencepost.cli.against import compare, print_comparison
from fencepost.cli.calling import call
from fencepost.cli.faults import NO
from fencepost.cli.local import ask
from fencepost.cli.options import Place, changes_store, json_option, tz_option
from fencepost.cli.output import print_json, print_table, shown_moment
from fencepost.cli.progress import Tally
from fencepost.cli.reading import read_when
from fencepost.errors import UsageError
from fencepost.operations.audit import BACKWARDS, AuditRequest, RepairRequest, repair, report_of
from fencepost.operations.audit import audit as audit_range
from fencepost.operations.reconciling import CompareKeysRequest
from fencepost.operations.responses.accounts import AccountResponse, AuditResponse

SHOWN_MAX = 100
SCHEDULES_SHOWN_MAX = 20


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
@click.option(
    "--against",
    metavar="FILE",
    help="Compare the run keys that another system has with the ledger: CSV with a header, or JSON lines; "
    "- is standard input.",
)
@click.option("--column", metavar="NAME", help="Where the keys are in FILE; run_key unless given.")
@click.option("--job", metavar="NAME", help="With --against: only runs of this job.")
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
    against: str | None,
    column: str | None,
    job: str | None,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Compare the ticks that a schedule's history asks for with what the ledger records, of one or of all.

    A tick is missing, doubled, unexpected, miscounted, uncertain (started, and its worker shows no life),
    overdue (too late, and nobody judged it), stale (it ran although it was too late) or differing (its
    attempts did not say the same to run.fingerprint): then the exit code is 1. That one began late is only
    reported.
    What is repaired is due at its own time: lateness and catch-up decide whether it still runs.

    With --against a key is repeated (the list has it more than once), without_run (it is unknown, or its run
    did not succeed) or without_effect (its run succeeded, and the list does not have it): then the exit code
    is 1. Runs that are under way are not judged. Give --to the time at which the list was made.

    \b
    Example:
      fencepost audit
      fencepost audit invoices --from 2026-03-01 --to 2026-03-08 --repair --reason "rows were lost"
      fencepost audit invoices --from 2026-03-01 --against sent.csv --column key
    """
    first, last = read_when("--from", since, tz), read_when("--to", until, tz)
    if against is None and (column, job) != (None, None):
        raise UsageError(f"{'--column' if column else '--job'}: goes with --against FILE")
    if against is not None and repair:
        raise UsageError("--repair: plans missing ticks; leave out --against")
    given: dict[str, Any] = {"schedule": schedule_id, "since": first, "until": last}
    if against is None:
        request = (RepairRequest if repair else AuditRequest)(**given)
        with options_named():
            report = audited(place, request)
        if as_json:
            print_json(report)
        else:
            _print_report(report, tz)
        left = report.faults - len(report.repaired)
    else:
        left = _against(place, against, column, CompareKeysRequest(job=job, **given), as_json)
    if left > 0:
        context.exit(NO)


@contextmanager
def options_named() -> Iterator[None]:
    """A refusal names the options."""
    try:
        yield
    except UsageError as error:
        if str(error) == BACKWARDS:
            raise UsageError("--to: expected a time that is not before --from") from None
        raise


def _against(place: Place, path: str, column: str | None, request: CompareKeysRequest, as_json: bool) -> int:
    """Compare and tell; how many differences there are."""
    with options_named():
        comparison = compare(place, path, column, request)
    if as_json:
        print_json(comparison)
    else:
        print_comparison(comparison)
    return comparison.faults


def audited(place: Place, request: AuditRequest | RepairRequest) -> AuditResponse:
    """By a server; or here, where nobody needs to be kept from looking at all of it."""
    if place.server:
        return (
            call(place, repair, request)
            if isinstance(request, RepairRequest)
            else call(place, audit_range, request)
        )
    with Tally() as tally:
        return ask(place, lambda control: report_of(control, request, tally.reached))


def _print_report(report: AuditResponse, tz: str | None) -> None:
    accounts = report.schedules
    if len(accounts) > SCHEDULES_SHOWN_MAX:
        accounts = [one for one in accounts if any(one.counts.values())]
    if accounts:
        _print_accounts(accounts)
        click.echo()
    _print_findings(report, tz)
    for one in report.schedules:
        for note in _notes(one, tz):
            click.echo(f"{one.schedule_id}: {note}")
    for key in report.repaired:
        click.echo(f"planned: {key}")
    share = f"{report.run_accounted:.2%}" if report.expected else "all"
    found = _counted(report.counts) or "no findings"
    ran = f"{report.succeeded} of {report.expected} ran"
    click.echo(f"{report.expected} ticks expected, {ran}, {share} accounted for: {found}")


def _print_accounts(accounts: Sequence[AccountResponse]) -> None:
    print_table(
        ("SCHEDULE", "EXPECTED", "ACCOUNTED", "SUCCEEDED", "COMPLETE", "FINDINGS"),
        [
            (
                one.schedule_id,
                one.expected,
                one.accounted,
                one.succeeded,
                f"{one.run_completeness:.2%}",
                _counted(one.counts),
            )
            for one in accounts
        ],
    )


def _print_findings(report: AuditResponse, tz: str | None) -> None:
    findings = [(account.schedule_id, one) for account in report.schedules for one in account.findings]
    if not findings:
        return
    rows = [
        (one.kind, schedule_id, shown_moment(one.fire_time, tz), one.words)
        for schedule_id, one in findings[:SHOWN_MAX]
    ]
    print_table(("FINDING", "SCHEDULE", "FIRE TIME", "WHAT"), rows)
    more = sum(report.counts.values()) - len(rows)
    if more:
        click.echo(f"and {more} more; see --json")
    click.echo()


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def _notes(account: AccountResponse, tz: str | None) -> list[str]:
    if account.forgotten_before is None:
        return account.notes
    since = shown_moment(account.forgotten_before, tz)
    return [f"retention may have removed ticks before {since}: they were not judged", *account.notes]
