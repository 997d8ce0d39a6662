"""`fencepost doctor`: the ten-point check before production."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click

from fencepost.app import Fencepost
from fencepost.assembly import look_at_broker
from fencepost.cli.faults import FINE, NO
from fencepost.cli.leases import leases_elsewhere
from fencepost.cli.options import Place, broker_option, in_stores, json_option
from fencepost.cli.output import cell, print_json
from fencepost.cli.target import load_target
from fencepost.clock import SystemClock
from fencepost.core.checkup import POINTS, SEVERITIES, Finding, Point, Severity, check_up, some_of, worst
from fencepost.core.checkup.facts import Facts, JobSheet, Watch
from fencepost.errors import InvalidSettings
from fencepost.executors.callable import CallableExecutor
from fencepost.executors.command import CommandExecutor
from fencepost.executors.process import ProcessExecutor
from fencepost.operations.responses.fleet import alarm_response
from fencepost.operations.words import moment
from fencepost.ports.executor import Job
from fencepost.ports.store import Store
from fencepost.services.broker_checkup import BrokerView
from fencepost.services.checkup import Target, gather
from fencepost.services.fleet import FleetView, look
from fencepost.wiring import open_existing_store, shown_store

POINT_NAMES = (
    *("run-key", "retention", "overlap", "catch-up", "retry"),
    *("replay", "fencing", "dst", "herds", "alerts"),
)
LINES_MAX = 20
"""How many findings of one point and one severity people are shown."""


@click.command()
@click.argument("target", metavar="TARGET")
@click.option(
    "--only", "only", type=click.Choice(POINT_NAMES), multiple=True, help="Only this point; may be repeated."
)
@click.option(
    "--offline",
    is_flag=True,
    help="Look at the code and the settings alone, not at the store and the broker.",
)
@click.option("--strict", is_flag=True, help="Exit 1 also where there are only warnings.")
@broker_option
@in_stores
@json_option
@click.pass_context
def doctor(
    context: click.Context,
    target: str,
    only: tuple[str, ...],
    offline: bool,
    strict: bool,
    broker: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Check an application before production: ten points, each finding with its reason and the mend.

    TARGET is as for `fencepost run`. The schedules of the store are looked at too, if it is there; nothing is
    written. What cannot be seen is `unknown`. What is wrong with the fleet or the broker of the moment is a
    warning too. Exit 1 where something breaks the promise (`fail`).

    \b
    Example:
      fencepost doctor shop:app --store postgresql://shop@db/fencepost
      fencepost doctor fencepost.toml --offline --strict
      fencepost doctor fencepost.toml --only dst --only herds
      fencepost doctor shop:app --broker nats://localhost
    """
    app = load_target(target)
    app.configure(store=place.store, leases=place.leases, namespace=place.namespace, broker=broker)
    points = [one for one in POINTS if not only or one in only]
    facts, fleet, messages = asyncio.run(_gathered(app, offline, points))
    findings = check_up(facts, points)
    warnings = {"fleet": _of_fleet(fleet), "broker": list(messages.warnings()) if messages else []}
    if as_json:
        print_json(
            _json(target, facts, findings, points) | _fleet_json(fleet) | {"broker": _broker_json(messages)}
        )
    else:
        _print(facts, findings, warnings, points)
    context.exit(_exit_code(findings, any(warnings.values()), strict))


async def _gathered(
    app: Fencepost, offline: bool, points: Collection[Point]
) -> tuple[Facts, FleetView | None, BrokerView | None]:
    specs = [job.spec for job in app.jobs.values()]
    broker = None if offline else await look_at_broker(app.settings, specs, app.intakes)
    store, unasked = (None, "the store was not asked (--offline)") if offline else await _opened(app)
    try:
        facts = await gather(_target(app), store, SystemClock(), unasked, points)
        return facts, None if store is None else await _fleet(app, store), broker
    finally:
        if store is not None:
            await store.close()


async def _opened(app: Fencepost) -> tuple[Store | None, str]:
    """The store, or why there is none to be asked yet. One that is there and cannot be read is a fault."""
    shown = shown_store(app.settings)
    try:
        return await open_existing_store(app.settings), ""
    except InvalidSettings:
        if not _is_file(app):
            raise
        return None, f"there is no store at {shown} yet"


async def _fleet(app: Fencepost, store: Store) -> FleetView:
    """Where leases live elsewhere they are read there, so that a wrong URL is found out here."""
    leases = leases_elsewhere(app.settings, store) or store.leases
    return await look(store, leases, app.settings.skew_warning_s)


def _target(app: Fencepost) -> Target:
    return Target(
        settings=app.settings,
        jobs={name: _job(job) for name, job in app.jobs.items()},
        schedules=app.code_schedules,
        calendars=app.code_calendars,
        has_pool=app.settings.store.startswith("postgres"),
    )


def _is_file(app: Fencepost) -> bool:
    return app.settings.store.startswith("sqlite:")


def _job(job: Job) -> JobSheet:
    """What can be seen of a job from its executor; of an unknown kind of work, nothing."""
    match job.executor:
        case CallableExecutor() | ProcessExecutor() as function:
            return JobSheet(job.spec, takes_run=function.takes_run)
        case CommandExecutor() as command:
            return JobSheet(job.spec, is_command=True, watches=_watches(command.argv))
    return JobSheet(job.spec)


def _watches(argv: Sequence[str]) -> frozenset[Watch]:
    """What a command looks at: it runs `fencepost audit`, be it by a path, a module or a shell."""
    line = " ".join(argv)
    return frozenset(watch for watch in Watch if re.search(rf"\bfencepost\s+{watch}\b", line))


def _exit_code(findings: Sequence[Finding], warned: bool, strict: bool) -> int:
    if strict and warned:
        return NO
    grave = {Severity.FAIL, Severity.WARN} if strict else {Severity.FAIL}
    return NO if worst(findings) in grave else FINE


def _of_fleet(fleet: FleetView | None) -> list[str]:
    """What is wrong with the fleet of the moment."""
    if fleet is None:
        return []
    return [*([fleet.trouble] if fleet.trouble else []), *(one.text for one in fleet.alarms)]


def _fleet_json(fleet: FleetView | None) -> dict[str, Any]:
    if fleet is None:
        return {"fleet": None}
    alarms = [alarm_response(one) for one in fleet.alarms]
    return {"fleet": {"nodes": len(fleet.nodes), "alarms": alarms, "trouble": fleet.trouble}}


def _broker_json(broker: BrokerView | None) -> dict[str, Any] | None:
    if broker is None:
        return None
    return {
        "name": broker.name,
        "destinations": list(broker.destinations),
        "missing": dict(broker.missing),
        "trouble": broker.trouble,
    }


def _json(target: str, facts: Facts, findings: Sequence[Finding], points: Sequence[Point]) -> dict[str, Any]:
    return {
        "target": target,
        "at": moment(facts.now),
        "store_asked": facts.ledger is not None,
        "schedules": len(facts.schedules),
        "jobs": len(facts.jobs),
        "points": {str(point): str(worst(_at(point, findings))) for point in points},
        "findings": [
            {
                "severity": str(one.severity),
                "point": str(one.point),
                "schedules": list(one.schedules),
                "reason": one.reason,
                "remedy": one.remedy,
                "example": one.example,
            }
            for one in findings
        ],
    }


def _print(
    facts: Facts,
    findings: Sequence[Finding],
    warnings: Mapping[str, Sequence[str]],
    points: Sequence[Point],
) -> None:
    for point in points:
        for severity in reversed(SEVERITIES):
            _print_lines([one for one in _at(point, findings) if one.severity is severity])
    for about, told in warnings.items():
        for warning in told:
            click.echo(f"{Severity.WARN.ljust(7)}  {about.ljust(9)}  {cell(warning)}")
    click.echo()
    if facts.ledger is None:
        click.echo(f"{facts.unasked}: only the code was looked at")
    click.echo(_summary(facts, findings, points))


def _print_lines(findings: Sequence[Finding]) -> None:
    for one in findings[:LINES_MAX]:
        click.echo(_line(one))
        for line in (one.example or "").splitlines():
            click.echo(f"    {line}".rstrip())
    if len(findings) > LINES_MAX:
        last = findings[-1]
        more = f"{len(findings) - LINES_MAX} more; --json shows all"
        click.echo(f"{last.severity.ljust(7)}  {last.point.ljust(9)}  {more}")


def _line(finding: Finding) -> str:
    about = f"{some_of(finding.schedules, len(finding.schedules))}: " if finding.schedules else ""
    remedy = f"; fix: {finding.remedy}" if finding.remedy else ""
    return f"{finding.severity.ljust(7)}  {finding.point.ljust(9)}  {cell(about + finding.reason + remedy)}"


def _summary(facts: Facts, findings: Sequence[Finding], points: Sequence[Point]) -> str:
    state = [worst(_at(point, findings)) for point in points]
    counts = ", ".join(f"{state.count(one)} {one}" for one in SEVERITIES if state.count(one))
    looked_at = f"{_many(len(facts.schedules), 'schedule')}, {_many(len(facts.jobs), 'job')}"
    return f"{looked_at}; {_many(len(points), 'point')}: {counts}"


def _many(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _at(point: Point, findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.point is point]
