"""The attempts of a run as they are shown: those that the ledger kept by themselves, and the one of its row.

An attempt that failed, was lost or left output is kept; of the others only the last is known, by the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from markupsafe import Markup

from fencepost.model.dataclasses import dataclass
from fencepost.model.run import Attempt, RunRecord, RunState
from fencepost.web.dashboard.charts.timeline import Stretch, timeline
from fencepost.web.dashboard.tell import Tell, span

WAITING = frozenset({RunState.PLANNED, RunState.READY})
LEAD = 3
"""A wait that is so many times as long as all that came after it is drawn cut."""
LEAD_LEAST = timedelta(minutes=1)
MARKS = {
    "succeeded": "fine",
    "failed": "dead",
    "dead": "dead",
    "lost": "missed",
    "cancelled": "cancelled",
    "running": "running",
}


@dataclass(frozen=True)
class Try:
    """One attempt; `ended_at` is None while it runs."""

    attempt: int
    fence: int
    worker: str | None
    began_at: datetime | None
    ended_at: datetime | None
    outcome: str
    error: str | None = None
    detail: str | None = None
    output: str | None = None

    @property
    def took_s(self) -> float | None:
        if self.began_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.began_at).total_seconds()

    @property
    def mark(self) -> str:
        return MARKS.get(self.outcome, "skipped")


def tries_of(run: RunRecord, attempts: Sequence[Attempt]) -> list[Try]:
    """All that are known, first to last."""
    kept = [
        Try(
            one.attempt,
            one.fence,
            one.worker,
            one.started_at,
            one.finished_at,
            one.outcome,
            one.error,
            one.detail,
            one.output,
        )
        for one in attempts
    ]
    if run.state in WAITING or run.started_at is None or run.attempt in {one.attempt for one in kept}:
        return kept
    return [
        *kept,
        Try(
            run.attempt,
            run.fence,
            run.worker,
            run.started_at,
            run.finished_at,
            str(run.state),
            run.error,
        ),
    ]


def attempts_chart(run: RunRecord, tries: Sequence[Try], tell: Tell) -> Markup | None:
    """When it waited, and when somebody was at it; nothing where its time has not come."""
    rows = stretches(run, tries, tell.now)
    if not rows:
        return None
    begin, end = _bounds(rows)
    label = f"Attempts of {run.run_key}: " + ("; ".join(one.title for one in rows) or "none")
    return timeline(rows, begin, end, label, _scale(tell, end - begin))


def stretches(run: RunRecord, tries: Sequence[Try], now: datetime) -> list[Stretch]:
    """A row for each attempt, with the wait before it; one more where it waits now."""
    found: list[Stretch] = []
    free_since = run.fire_time
    for one in tries:
        if one.began_at is None:
            continue
        row = f"attempt {one.attempt}"
        if one.began_at > free_since:
            found.append(_wait(row, free_since, one.began_at, first=free_since == run.fire_time))
        ended = one.ended_at or now
        found.append(Stretch(row, one.began_at, ended, one.mark, _told(one, ended), _short(one)))
        free_since = max(ended, free_since)
    if run.state in WAITING and now > free_since:
        found.append(_wait("waiting", free_since, now, first=not tries))
    return found


def _wait(row: str, begin: datetime, end: datetime, first: bool) -> Stretch:
    why = "waited from its fire time" if first else "waited for the next attempt"
    return Stretch(row, begin, end, "planned", f"{row}: {why}, {span((end - begin).total_seconds())}", "wait")


def _told(one: Try, ended: datetime) -> str:
    assert one.began_at is not None
    where = f" on {one.worker}" if one.worker else ""
    took = span((ended - one.began_at).total_seconds())
    return f"attempt {one.attempt}, fence {one.fence}{where}: {one.outcome} after {took}"


def _short(one: Try) -> str:
    return f"{one.outcome} · fence {one.fence}"


def _bounds(rows: Sequence[Stretch]) -> tuple[datetime, datetime]:
    """A first wait that would leave no room for the rest is cut at its beginning."""
    begin, end = min(one.begin for one in rows), max(one.end for one in rows)
    first = rows[0]
    if first.mark != "planned" or len(rows) == 1:
        return begin, end
    most = max((end - first.end) * LEAD, LEAD_LEAST)
    return max(begin, first.end - most), end


def _scale(tell: Tell, length: timedelta) -> Callable[[datetime], str]:
    def clock(moment: datetime) -> str:
        local = moment.astimezone(tell.zone)
        if length < timedelta(seconds=10):
            return f"{local:%H:%M:%S}.{local.microsecond // 100_000}"
        return f"{local:%H:%M:%S}" if length < timedelta(days=1) else f"{local.day} {local:%b %H:%M}"

    return clock
