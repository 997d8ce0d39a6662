"""I8, I9 and backoff: how often a run is tried, when, and how soon a silent worker's run is taken from it.

An attempt counts as alive until its start or its last heartbeat says. Past that it is over within one pass of
a reaper and some slack, by whatever way. Where a fault that keeps every reaper away lies in between, it is
over so much and one heartbeat timeout after the fault's end: the owners have that time to show life. Which
faults those are is the caller's to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from fencepost.model.job import JobSpec, Retry
from fencepost.model.run import RunRecord, RunState
from tests.history.findings import HANDFUL, ROUNDING_S, Kind, Looked, Row, by_row, ends_attempt, rescues
from tests.history.model import END_OF_TIME, START_OF_TIME, Change, Fault, History, Violation
from tests.history.moves import is_replay
from tests.history.policies import wait_max_s

NEEDS = frozenset({"changes", "jobs"})
TOO_OFTEN = Kind("I9", "tried too often")
MISNUMBERED = Kind("I9", "attempts are not counted one by one")
TRIED_AGAIN = Kind("I8", "tried again although at most once")
LATE_RESCUE = Kind("I8", "left with a silent worker")
EARLY_RESCUE = Kind("I8", "taken from a living worker")
EARLY = Kind("backoff", "started before it was due")
BACKOFF = Kind("backoff", "waits out of bounds")
NO_JOB = Kind("I9", "of no known job")
SPENT = Kind("I9", "attempts before its replay miscounted")
KINDS = (TOO_OFTEN, MISNUMBERED, TRIED_AGAIN, LATE_RESCUE, EARLY_RESCUE, EARLY, BACKOFF, NO_JOB, SPENT)

EXCUSES: frozenset[str] = frozenset()
SLACK_S, SLACK_PASSES = 10.0, 2
"""For round trips, lost requests and the patience after them; or so many passes, where those are rare."""


def check(
    history: History, looked: Looked | None = None, excuses: frozenset[str] = EXCUSES
) -> Iterator[Violation]:
    """See the module; `excuses` are the kinds of faults that keep every reaper away."""
    return islice(_check(history, Looked() if looked is None else looked, excuses), HANDFUL)


def _check(history: History, looked: Looked, excuses: frozenset[str]) -> Iterator[Violation]:
    rows = by_row(history)
    for changes in rows.values():
        job = history.jobs.get(changes[0].run.job)
        if job is None:
            yield NO_JOB.found(f"{changes[0].run.run_key}: {changes[0].run.job}")
            continue
        yield from _check_row(changes, job, history.statement_s, looked)
    if "pulses" not in history.unseen:
        excusing = sorted((one for one in history.faults if one.kind in excuses), key=lambda one: one.since)
        yield from _Rescues(history, excusing).check(rows, looked)


def _check_row(
    changes: Sequence[Change], job: JobSpec, statement_s: float, looked: Looked
) -> Iterator[Violation]:
    """Its tries are counted here, since it was written or last replayed."""
    tries = 0
    for change in changes:
        replayed = is_replay(change)
        if replayed or change.before is None:
            tries = 0
        tries += change.starts
        yield from _check_spent(change, replayed)
        if _given_back(change):
            tries -= 1
            continue
        yield from _check_change(change, tries, job, statement_s, looked)


def _given_back(change: Change) -> bool:
    """Whether a worker gave back what it had claimed ahead of its room: that is no attempt."""
    before, after = change.before, change.after
    return (
        before is not None
        and after is not None
        and before.state is RunState.RUNNING
        and after.state is RunState.READY
        and after.reason == "handed back before it began"
    )


def _check_spent(change: Change, replayed: bool) -> Iterator[Violation]:
    before, after = change.before, change.after
    if after is None:
        return
    expected = (
        0
        if before is None
        else before.attempt
        if replayed
        else before.attempts_before_replay + _given_back(change)
    )
    if after.attempts_before_replay != expected:
        yield SPENT.found(
            f"{after.run_key}: {after.attempts_before_replay} instead of {expected}, attempt {after.attempt}"
        )


def _check_change(
    change: Change, tries: int, job: JobSpec, statement_s: float, looked: Looked
) -> Iterator[Violation]:
    before, after = change.before, change.after
    if after is None:
        return
    if change.starts:
        looked["starts"] += 1
        yield from _check_start(change.at, before, after, tries, job)
    elif before is not None and after.attempt != before.attempt:
        yield MISNUMBERED.found(f"{after.run_key} went from {before.attempt} to {after.attempt}, unstarted")
    if before is not None and before.state is RunState.RUNNING and after.state is RunState.READY:
        looked["waits"] += 1
        yield from _check_wait(change.at, after, tries, job.retry, statement_s)


def _check_start(
    at: datetime, before: RunRecord | None, run: RunRecord, tries: int, job: JobSpec
) -> Iterator[Violation]:
    if tries > job.retry.max_attempts:
        yield TOO_OFTEN.found(f"{run.run_key}: {tries} of {job.retry.max_attempts}")
    if job.at_most_once and tries > 1:
        yield TRIED_AGAIN.found(f"{run.run_key}: attempt {run.attempt}, {tries} since it was last replayed")
    if before is not None and run.attempt != before.attempt + 1:
        yield MISNUMBERED.found(f"{run.run_key}: attempt {run.attempt} after {before.attempt}")
    due = run.run_at if before is None else before.run_at
    if at < due - timedelta(seconds=ROUNDING_S):
        yield EARLY.found(f"{run.run_key} at {at}, due {due}")


def _check_wait(
    at: datetime, after: RunRecord, tries: int, policy: Retry, statement_s: float
) -> Iterator[Violation]:
    """How long it waits tells why: a retry as long as its jitter or the cap says, or as it asked to; a
    rescue, or what a stopping worker hands back, not at all."""
    wait_s = (after.run_at - at).total_seconds()
    least_s, most_s = _bounds_s(after.reason or "", tries, policy)
    if not least_s - statement_s - ROUNDING_S <= wait_s <= most_s + ROUNDING_S:
        yield BACKOFF.found(f"{after.run_key}, {after.reason}: {wait_s:.3f}s of {least_s:g}s to {most_s:g}s")


def _bounds_s(reason: str, tries: int, policy: Retry) -> tuple[float, float]:
    if "as long as it asked to" in reason:
        return 0.0, float("inf")
    if "at the pace of the cap" in reason:
        return policy.cap.total_seconds() / 2, policy.cap.total_seconds()
    if reason.startswith("waits for a retry"):
        return 0.0, wait_max_s(policy, tries)
    return 0.0, 0.0


class _Rescues:
    """Silences, and how they ended."""

    def __init__(self, history: History, excusing: Sequence[Fault]) -> None:
        self._history = history
        self._excusing = excusing
        every_s = history.settings.reap_every_s
        self._bound = timedelta(seconds=every_s + max(SLACK_S, SLACK_PASSES * every_s))
        self._timeout = timedelta(seconds=history.settings.heartbeat_timeout_s)
        self._pulses: dict[tuple[str, int], list[tuple[datetime, datetime]]] = defaultdict(list)
        for one in history.pulses:
            self._pulses[one.key, one.fence].append((one.at, one.alive_until))

    def check(self, rows: dict[Row, list[Change]], looked: Looked) -> Iterator[Violation]:
        for changes in rows.values():
            start: Change | None = None
            for change in changes:
                if change.starts:
                    start = change
                elif start is not None and ends_attempt(change):
                    looked["attempts"] += 1
                    yield from self._check_attempt(start, change.at, change)
                    start = None
            if start is not None and self._history.ended_at > START_OF_TIME:
                yield from self._check_attempt(start, self._history.ended_at, None)

    def _check_attempt(self, start: Change, over: datetime, end: Change | None) -> Iterator[Violation]:
        run = start.run
        alive_until = run.alive_until or start.at + self._timeout
        for at, promised in self._pulses.get((run.run_key, run.fence), ()):
            yield from self._check_silence(run, alive_until, at)
            # What was sent may wait for its processor for longer than that may be silent.
            alive_until = promised if self._is_sent(run) else max(alive_until, promised)
        yield from self._check_silence(run, alive_until, over)
        if end is not None and rescues(end) and over < alive_until - timedelta(seconds=ROUNDING_S):
            yield EARLY_RESCUE.found(
                f"{run.run_key}, fence {run.fence}, at {over}, alive until {alive_until}"
            )

    def _is_sent(self, run: RunRecord) -> bool:
        job = self._history.jobs.get(run.job)
        return job is not None and job.message is not None

    def _check_silence(self, run: RunRecord, since: datetime, until: datetime) -> Iterator[Violation]:
        if until > since + self._bound and until > self._deadline(since):
            yield LATE_RESCUE.found(f"{run.run_key}, fence {run.fence}, from {since} to {until}")

    def _deadline(self, since: datetime) -> datetime:
        deadline = since + self._bound
        for fault in self._excusing:
            if fault.since <= deadline and fault.until >= since:
                bound = self._timeout + self._bound
                deadline = max(deadline, min(fault.until, END_OF_TIME - bound) + bound)
        return deadline
