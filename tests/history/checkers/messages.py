"""I11: a broker message that is lost, repeated, reordered or late changes nothing but latency.

A run that is sent ends once, and by the end of the history. It succeeds only where a broker had its message,
and, where a result is expected, only where a processor said so under the very attempt and fence by which it
ended. What processors do is applied once for each fence, and of a run that succeeded the last that was
applied is of the attempt that ended it. Every message of an intake is one run, and every run of an intake is
one message's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fencepost.model.message import Reply
from fencepost.model.run import RunRecord, RunState
from tests.history.findings import Kind, Looked, bounded, by_row
from tests.history.model import Change, History, Violation
from tests.history.moves import ENDED, is_replay

NEEDS = frozenset({"changes", "jobs", "published", "replies", "handled", "arrived"})
NOT_ENDED = Kind("I11", "sent and not ended by the end")
ENDED_AGAIN = Kind("I11", "ended more than once")
NOT_PUBLISHED = Kind("I11", "succeeded without its message")
NOT_REPLIED = Kind("I11", "succeeded by no reply of its attempt")
APPLIED_TWICE = Kind("I11", "applied twice under one fence")
APPLIED_OTHERWISE = Kind("I11", "the last that was applied is of another attempt")
NO_RUN = Kind("I11", "a message of an intake without a run")
TWO_RUNS = Kind("I11", "a message of an intake with more than one run")
NO_MESSAGE = Kind("I11", "a run of an intake without a message")
KINDS = (
    NOT_ENDED,
    ENDED_AGAIN,
    NOT_PUBLISHED,
    NOT_REPLIED,
    APPLIED_TWICE,
    APPLIED_OTHERWISE,
    NO_RUN,
    TWO_RUNS,
    NO_MESSAGE,
)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    applied: dict[str, int] = {}
    seen: Counter[tuple[str, int]] = Counter()
    for one in history.handled:
        looked["effects of processors"] += 1
        if one.taken_by_fenced:
            applied[one.key] = one.fence
            seen[one.key, one.fence] += 1
    for (key, fence), number in seen.items():
        if number > 1:
            yield APPLIED_TWICE.found(f"{key} under fence {fence}, {number} times")
    for changes in by_row(history).values():
        job = history.jobs.get(changes[0].run.job)
        if job is not None and job.message is not None:
            looked["runs that are sent"] += 1
            yield from _check_run(history, changes, job.message.reply, applied)
    yield from _check_arrived(history, looked)


def _check_run(
    history: History, changes: list[Change], reply: Reply, applied: dict[str, int]
) -> Iterator[Violation]:
    ends = 0
    for change in changes:
        if is_replay(change):
            ends = 0
        if _ends(change):
            ends += 1
            assert change.after is not None
            if ends == 2:
                yield ENDED_AGAIN.found(change.run.run_key)
            if change.after.state is RunState.SUCCEEDED:
                yield from _check_success(history, change.after, reply)
    last = changes[-1].after
    if last is None:
        return
    if last.state not in ENDED and last.fire_time <= history.through and not last.held:
        yield NOT_ENDED.found(f"{last.run_key} is {last.state}")
    if last.state is RunState.SUCCEEDED and reply is Reply.RESULT:
        fence = applied.get(last.run_key)
        if fence != last.fence:
            yield APPLIED_OTHERWISE.found(f"{last.run_key} ended with fence {last.fence}, applied: {fence}")


def _ends(change: Change) -> bool:
    before, after = change.before, change.after
    if after is None or after.state not in ENDED:
        return False
    return before is None or before.state not in ENDED


def _check_success(history: History, run: RunRecord, reply: Reply) -> Iterator[Violation]:
    if run.run_key not in history.published:
        yield NOT_PUBLISHED.found(run.run_key)
    told = (run.run_key, run.attempt, run.fence, RunState.SUCCEEDED.value)
    if reply is Reply.RESULT and told not in history.replies:
        yield NOT_REPLIED.found(f"{run.run_key}, attempt {run.attempt}, fence {run.fence}")


def _check_arrived(history: History, looked: Looked) -> Iterator[Violation]:
    sources = {key.rpartition("/")[0] for key in history.arrived.values()}
    written: Counter[str] = Counter(
        one.run.run_key
        for one in history.changes
        if one.before is None and one.run.run_key.rpartition("/")[0] in sources
    )
    wanted = set(history.arrived.values())
    for identity, key in history.arrived.items():
        looked["messages of intakes"] += 1
        if not written[key]:
            yield NO_RUN.found(f"{identity}: {key}")
        elif written[key] > 1:
            yield TWO_RUNS.found(f"{identity}: {key}, {written[key]} times")
    for key in sorted(written.keys() - wanted):
        yield NO_MESSAGE.found(key)
