"""What happened between two times: gathered for a post-mortem, with bounds on every list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fencepost.cli.calling import Caller
from fencepost.core.catchup import ON_TIME_MAX
from fencepost.model.run import RunState
from fencepost.model.times import from_utc_text, to_utc_text
from fencepost.operations.leases import ListRefusalsRequest, ListTermsRequest, list_refusals, list_terms
from fencepost.operations.log import ListLogRequest, list_log
from fencepost.operations.operation import Operation
from fencepost.operations.paging import LIMIT_MAX
from fencepost.operations.responses.accounts import AccountResponse, AuditResponse
from fencepost.operations.responses.fleet import RefusalResponse, TermResponse
from fencepost.operations.responses.log import AuditEntryResponse
from fencepost.operations.responses.runs import RunResponse
from fencepost.operations.runs import ListRunsRequest, list_runs

LISTED_MAX = 50
"""Rows of a section; what is behind them is counted."""
READ_MAX = 5_000
"""How many rows are read to count them."""

T = TypeVar("T")


class Section(Struct, Generic[T], kw_only=True):
    """The first rows of something, and how many there are."""

    items: list[T]
    count: int
    """`READ_MAX` are read to count them: so many are that or more."""


class Finding(Struct, kw_only=True):
    """Something that an audit found."""

    schedule_id: str
    kind: str
    fire_time: str
    words: str


class PostMortem(Struct, kw_only=True):
    """All that the page says."""

    since: str
    until: str
    expected: int
    due: int
    accounted: int
    succeeded: int
    states: dict[str, int]
    counts: dict[str, int]
    """Findings, by kind."""
    schedules: Section[AccountResponse]
    findings: Section[Finding]
    late: Section[RunResponse]
    """Those that began more than ten seconds after they were due, the latest first."""
    late_among: int
    """How many runs were read to find them, the newest; there are more where it is `READ_MAX`."""
    missed: Section[RunResponse]
    dead: Section[RunResponse]
    terms: Section[TermResponse]
    refusals: Section[RefusalResponse]
    actions: Section[AuditEntryResponse]


def gathered(caller: Caller, account: AuditResponse) -> PostMortem:
    """All that the page says, about the range of an audit."""
    # The range of an audit is open at its beginning, what is listed is open at its end.
    since, behind = _moved(account.since), _moved(account.until)
    states = _states(account)
    missed, dead = (
        _section(_all(caller, list_runs, ListRunsRequest(state=state, since=since, until=behind)))
        for state in (RunState.MISSED, RunState.DEAD)
    )
    newest = list(_all(caller, list_runs, ListRunsRequest(since=since, until=behind)))
    terms = _all(caller, list_terms, ListTermsRequest())
    refusals = _all(caller, list_refusals, ListRefusalsRequest())
    return PostMortem(
        since=since,
        until=account.until,
        expected=account.expected,
        due=account.due,
        accounted=account.accounted,
        succeeded=account.succeeded,
        states=states,
        counts={kind: count for kind, count in account.counts.items() if count},
        schedules=_section(sorted(filter(_had_ticks, account.schedules), key=_trouble)),
        findings=_findings(account),
        late=_section(sorted(filter(_was_late, newest), key=_lateness, reverse=True)),
        late_among=len(newest),
        missed=replace(missed, count=max(missed.count, states.get("missed", 0))),
        dead=dead,
        terms=_section(one for one in terms if _overlaps(one.since, one.until, since, behind)),
        refusals=_section(one for one in refusals if _overlaps(one.at, one.at, since, behind)),
        actions=_section(_all(caller, list_log, ListLogRequest(since=since, until=behind))),
    )


def _all(caller: Caller, operation: Operation[Any, Any, Any], request: Any) -> Iterator[Any]:
    """The items of a list, page after page, as many as are read."""
    read, after = 0, None
    while read < READ_MAX:
        page = caller.call(operation, replace(request, limit=LIMIT_MAX, after=after))
        yield from page.items
        read, after = read + len(page.items), page.next
        if after is None:
            return


def _section(items: Iterable[T]) -> Section[T]:
    kept, count = [], 0
    for one in items:
        count += 1
        if count <= LISTED_MAX:
            kept.append(one)
    return Section(items=kept, count=count)


def _findings(account: AuditResponse) -> Section[Finding]:
    found = [
        Finding(schedule_id=one.schedule_id, kind=each.kind, fire_time=each.fire_time, words=each.words)
        for one in account.schedules
        for each in one.findings
    ]
    order = list(account.counts)
    found.sort(key=lambda one: (order.index(one.kind), one.fire_time))
    return Section(items=found[:LISTED_MAX], count=sum(account.counts.values()))


def _states(account: AuditResponse) -> dict[str, int]:
    states: Counter[str] = Counter()
    for one in account.schedules:
        states.update(one.states)
    return {state: count for state, count in states.items() if count}


def _had_ticks(one: AccountResponse) -> bool:
    return bool(one.expected or any(one.counts.values()))


def _trouble(one: AccountResponse) -> tuple[int, str]:
    """What did not go well comes first."""
    return one.succeeded - one.expected - sum(one.counts.values()), one.schedule_id


def _lateness(run: RunResponse) -> float:
    return run.late_s or 0.0


def _was_late(run: RunResponse) -> bool:
    return _lateness(run) > ON_TIME_MAX.total_seconds()


def _overlaps(begin: str, end: str | None, since: str, behind: str) -> bool:
    if from_utc_text(begin) >= from_utc_text(behind):
        return False
    return end is None or from_utc_text(end) >= from_utc_text(since)


def _moved(moment: str) -> str:
    return to_utc_text(from_utc_text(moment) + datetime.resolution)
