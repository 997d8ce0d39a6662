"""Ways to spoil the eventful history: at least one for each kind of violation, and nothing else spoiled on
purpose. That one lie often gives another away is no harm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias

from fencepost.model.identifiers import Epoch, JobName, RunKey, ScheduleId
from fencepost.model.job import Retry
from fencepost.model.policies import CatchUp, Overlap, parse_overlap
from fencepost.model.run import Hold, Origin, Receipt, RunState
from tests.history.builder import START
from tests.history.checkers import (
    attempts,
    durability,
    effects,
    fences,
    lateness,
    leases,
    liveness,
    messages,
    overlap,
    reports,
    states,
    ticks,
)
from tests.history.findings import Kind
from tests.history.model import Change, History, PlanWrite, Registration

Spoil: TypeAlias = Callable[[History], object]
Found: TypeAlias = Callable[[Change], bool]


def key(schedule: str, minute: int, version: int = 1) -> str:
    """The key of a tick so many minutes after the start."""
    return f"{schedule}#2026-03-29T00:{minute:02}:00Z#{version}"


def of(run_key: str) -> Found:
    return lambda change: change.run.run_key == run_key


def starts(run_key: str, attempt: int = 1) -> Found:
    return lambda one: one.starts and one.run.run_key == run_key and one.run.attempt == attempt


def becomes(run_key: str, state: RunState) -> Found:
    return lambda one: one.run.run_key == run_key and one.after is not None and one.after.state is state


def is_written(run_key: str) -> Found:
    return lambda one: one.run.run_key == run_key and one.before is None


def place(history: History, found: Found) -> int:
    """Where the first such change is."""
    return next(number for number, one in enumerate(history.changes) if found(one))


def drop(history: History, found: Found) -> None:
    """All such changes were never seen."""
    history.changes[:] = [one for one in history.changes if not found(one)]


def amend(history: History, found: Found, **values: Any) -> None:
    """The row was something else after such a change, up to the next one."""
    number = place(history, found)
    one = history.changes[number]
    assert one.after is not None
    amended = replace(one.after, **values)
    history.changes[number] = one._replace(after=amended)
    for later in range(number + 1, len(history.changes)):
        if history.changes[later].before is one.after:
            history.changes[later] = history.changes[later]._replace(before=amended)


def move(history: History, found: Found, seconds: float) -> None:
    """All such changes came so much later."""
    shift = timedelta(seconds=seconds)
    history.changes[:] = [one._replace(at=one.at + shift) if found(one) else one for one in history.changes]


def append(history: History, found: Found, **values: Any) -> None:
    """After all else, the row that such a change left was changed once more."""
    last = history.changes[place(history, found)].after
    assert last is not None
    history.changes.append(Change(history.ended_at, last, replace(last, **values)))


def add_row(history: History, like: str, minute: float, run_key: str, **values: Any) -> None:
    """Another row, written at the end."""
    run = history.changes[place(history, is_written(like))].after
    assert run is not None
    moment = START + timedelta(minutes=minute)
    new = replace(run, run_key=RunKey(run_key), fire_time=moment, run_at=moment, **values)
    history.changes.append(Change(START + timedelta(minutes=1), None, new))


def set_job(history: History, **values: Any) -> None:
    work = JobName("work")
    history.jobs = {**history.jobs, work: replace(history.jobs[work], **values)}


def set_policy(history: History, schedule: str, **values: Any) -> None:
    """All versions of the schedule say something else."""
    known = history.versions[ScheduleId(schedule)]
    said = [replace(one, spec=replace(one.spec, **values)) for one in known]
    history.versions = {**history.versions, ScheduleId(schedule): said}


def set_version(history: History, schedule: str, number: int, **values: Any) -> None:
    """One version of the schedule was another."""
    known = list(history.versions[ScheduleId(schedule)])
    known[number - 1] = replace(known[number - 1], **values)
    history.versions = {**history.versions, ScheduleId(schedule): known}


def give(items: list[Any], found: Callable[[Any], bool], **values: Any) -> None:
    """The first such item says something else."""
    number = next(number for number, one in enumerate(items) if found(one))
    items[number] = items[number]._replace(**values)


def keep_old_version(history: History) -> None:
    drop(history, of(key("beat", 6, version=2)))
    drop(history, becomes(key("beat", 6), RunState.WITHDRAWN))


def swap_fences(history: History) -> None:
    one, other = (starts(key("beat", minute)) for minute in (2, 5))
    fences_of = [history.changes[place(history, found)].run.fence for found in (one, other)]
    amend(history, one, fence=fences_of[1])
    amend(history, other, fence=fences_of[0])


def reuse_fence(history: History) -> None:
    first = history.changes[place(history, starts(key("beat", 3)))].run.fence
    amend(history, starts(key("beat", 3), attempt=2), fence=first)


def keep_spent_fence(history: History) -> None:
    old = history.changes[place(history, starts(key("beat", 4)))].run.fence
    rescued = key("beat", 4)
    amend(history, lambda one: becomes(rescued, RunState.READY)(one) and one.before is not None, fence=old)


def prune_waiting(history: History) -> None:
    written = history.changes[place(history, is_written(HAND))]
    drop(history, lambda one: of(HAND)(one) and one.before is not None)
    history.changes.append(Change(written.at, written.after, None))


def run_coalesced(history: History) -> None:
    """A tick that gave way to a newer one begins after all."""
    number = place(history, becomes(key("late", 3), RunState.MISSED))
    at, before, _ = history.changes[number]
    assert before is not None
    begun: dict[str, Any] = {"state": RunState.RUNNING, "attempt": 1, "fence": 99, "origin": Origin.CATCH_UP}
    history.changes[number] = Change(at, before, replace(before, **begun))


def begin_after_they_were_due(history: History) -> None:
    """What two ticks waited for was a backfill that began when the first of them was due already."""
    first = key("buffered", 2)
    history.changes[:] = [_as_backfill(one) if of(first)(one) else one for one in history.changes]
    move(history, starts(first), 61)


def _as_backfill(change: Change) -> Change:
    before, after = (
        None if one is None else replace(one, origin=Origin.BACKFILL) for one in (change.before, change.after)
    )
    return change._replace(before=before, after=after)


def write_a_newer_one_later(history: History) -> None:
    """The tick that ran as the newest was not: a planner had not written the next one."""
    run = history.changes[place(history, is_written(key("late", 5)))].run
    moment = START + timedelta(minutes=5, seconds=30)
    newer = replace(run, run_key=RunKey(f"{run.run_key}-newer"), fire_time=moment, run_at=moment)
    history.changes.append(Change(history.ended_at, None, newer))


def start_late(history: History, seconds: float, **policy: Any) -> None:
    set_policy(history, "rude", **policy)
    move(history, starts(key("rude", 3)), seconds)


def shift_end(history: History, seconds: float) -> None:
    """The version that an edit replaced ended at another time."""
    until = history.versions[ScheduleId("beat")][0].in_force_until
    assert until is not None
    set_version(history, "beat", 1, in_force_until=until + timedelta(seconds=seconds))


def spend_early(history: History) -> None:
    """What was tried is forgotten with each retry."""
    amend(history, waits(key("doomed", 2)), attempts_before_replay=1)


def try_once_more(history: History) -> None:
    """The last retry is told of as if it were the first."""
    set_job(history, retry=Retry(2, "10s", "1m"))
    number = place(history, starts(key("doomed", 2), attempt=3))
    history.changes[number] = history.changes[number]._replace(
        after=replace(history.changes[number].run, attempts_before_replay=2)
    )


def remove_by_hand(history: History) -> None:
    last = [one.after for one in history.changes if of(HAND)(one)][-1]
    history.changes.append(Change(history.ended_at, last, None))


HAND = "work#one"
SENT = key("sent", 2)
GOOD, AGAIN, SAVED, SLOW = key("beat", 2), key("beat", 3), key("beat", 4), key("beat", 7, version=2)
LAST = START + timedelta(minutes=9)
OF_RESCUE: Found = lambda one: of(SAVED)(one) and one.before is not None and one.before.fence == 4  # noqa: E731

TICKS: list[tuple[Kind, Spoil]] = [
    (ticks.WRITTEN_TWICE, lambda h: h.changes.append(h.changes[place(h, is_written(GOOD))])),
    (ticks.WRITTEN_TWICE, lambda h: h.changes.append(h.changes[place(h, is_written(key("doomed", 2)))])),
    (ticks.MISSING, lambda h: drop(h, of(GOOD))),
    (ticks.MISSING, lambda h: setattr(h, "ranges", [])),
    (ticks.MISCOUNTED, lambda h: setattr(h, "ranges", [replace(h.ranges[0], count=3)])),
    (ticks.MISCOUNTED, lambda h: setattr(h, "ranges", [replace(h.ranges[0], version=2)])),
    (ticks.COUNTED_TWICE, lambda h: setattr(h, "ranges", [*h.ranges, *h.ranges])),
    (ticks.TWO_ALIVE, lambda h: add_row(h, GOOD, 2, key("beat", 2, version=2), version=2)),
    (ticks.TWO_ALIVE, lambda h: drop(h, becomes(key("beat", 6), RunState.WITHDRAWN))),
    (ticks.SURPLUS, lambda h: add_row(h, GOOD, 2.5, "beat#2026-03-29T00:02:30Z#1")),
    (
        ticks.SURPLUS,
        lambda h: add_row(h, GOOD, 2, "gone#2026-03-29T00:02:00Z#1", schedule_id=ScheduleId("gone")),
    ),
    (
        ticks.SURPLUS,
        lambda h: add_row(h, GOOD, 2.5, "beat#2026-03-29T00:02:30Z#1", epoch=Epoch(0)),
    ),
    (ticks.OUT_OF_FORCE, keep_old_version),
    (ticks.HAND_REMOVED, remove_by_hand),
    (ticks.NUMBERING, lambda h: set_version(h, "beat", 2, version=3)),
    (ticks.TWO_IN_FORCE, lambda h: shift_end(h, 1)),
    (ticks.TWO_IN_FORCE, lambda h: set_version(h, "beat", 1, in_force_until=None)),
    (ticks.TWO_IN_FORCE, lambda h: set_version(h, "beat", 1, in_force_until=START)),
    (ticks.NONE_IN_FORCE, lambda h: shift_end(h, -1)),
    (ticks.NONE_IN_FORCE, lambda h: set_version(h, "beat", 2, in_force_until=LAST)),
    (ticks.NONE_IN_FORCE, lambda h: setattr(h, "halts", [])),
    (ticks.NONE_IN_FORCE, lambda h: give(h.halts, lambda one: True, schedule_id="beat")),
    (ticks.NONE_IN_FORCE, lambda h: give(h.halts, lambda one: True, since=LAST, until=LAST)),
]
LATENESS: list[tuple[Kind, Spoil]] = [
    (lateness.TOO_LATE, lambda h: start_late(h, 61)),
    (lateness.TOO_LATE, lambda h: start_late(h, 61, overlap=Overlap.ALLOW)),
    (lateness.TOO_LATE, lambda h: start_late(h, 11, catch_up=CatchUp("latest"))),
    (lateness.TOO_LATE, lambda h: start_late(h, 6, catch_up=CatchUp("sequential", "5s"))),
    (lateness.TOO_LATE, lambda h: move(h, starts(key("buffered", 4)), 61)),
    (lateness.TOO_LATE, lambda h: move(h, starts(key("polite", 3)), 61)),
    (lateness.TOO_LATE, lambda h: move(h, starts(GOOD), 61)),
    (lateness.TOO_LATE, lambda h: set_policy(h, "buffered", overlap=Overlap.ALLOW)),
    (lateness.TOO_LATE, begin_after_they_were_due),
    (lateness.NOT_NEWEST, run_coalesced),
    (lateness.NOT_NEWEST, write_a_newer_one_later),
    (lateness.TOO_MANY, lambda h: drop(h, becomes(key("in turn", 2), RunState.SUCCEEDED))),
    (lateness.TOO_MANY_WAIT, lambda h: set_policy(h, "buffered", overlap=parse_overlap("buffer_all(1)"))),
    (lateness.TOO_MANY_WAIT, lambda h: set_policy(h, "buffered", overlap=Overlap.BUFFER_ONE)),
    (lateness.TOO_MANY_WAIT, lambda h: set_policy(h, "buffered", overlap=Overlap.SKIP)),
    (lateness.TOO_MANY_WAIT, lambda h: set_policy(h, "buffered", overlap=Overlap.CANCEL_OTHER)),
]
FENCES: list[tuple[Kind, Spoil]] = [
    (fences.EPOCH_FELL, lambda h: h.plan_writes.append(PlanWrite(LAST, 0, 2, True))),
    (fences.REGISTERED_FELL, lambda h: h.registrations.append(Registration(LAST, 0, 2, "node-3"))),
    (fences.STALE_PLAN, lambda h: give(h.plan_writes, lambda one: not one.accepted, accepted=True)),
    (fences.STALE_PLAN, lambda h: h.plan_writes.append(PlanWrite(LAST, 7, 2, True))),
    (fences.UNKNOWN_EPOCH, lambda h: amend(h, is_written(GOOD), epoch=2)),
    (fences.RUN_FENCE, reuse_fence),
    (fences.SCHEDULE_FENCE, swap_fences),
    (fences.OLD_FENCE, keep_spent_fence),
    (reports.STOLEN_REPORT, lambda h: give(h.reports, is_refused, receipt=Receipt.ACCEPTED)),
    (reports.LOST_REPORT, lambda h: give(h.reports, is_accepted, receipt=Receipt.REFUSED)),
    (reports.LOST_REPORT, lambda h: give(h.reports, is_accepted, receipt=Receipt.REPEATED)),
    (reports.FALSE_REPEAT, lambda h: give(h.reports, is_refused, receipt=Receipt.REPEATED)),
    (leases.UNREGISTERED, lambda h: give(h.plans_sent, lambda one: True, epoch=7)),
    (leases.UNREGISTERED, lambda h: give(h.plans_sent, lambda one: True, shard=7)),
    (leases.UNREGISTERED, lambda h: give(h.plans_sent, lambda one: True, node="node-3")),
    (leases.UNREGISTERED, lambda h: give(h.plans_sent, lambda one: True, at=START - timedelta(seconds=1))),
    (leases.NOT_HELD, lambda h: give(h.plans_sent, lambda one: one.held, held=False)),
]
STATES: list[tuple[Kind, Spoil]] = [
    (states.BORN, lambda h: amend(h, is_written(GOOD), state=RunState.RUNNING)),
    (states.FORBIDDEN, lambda h: amend(h, becomes(GOOD, RunState.SUCCEEDED), state=RunState.SKIPPED)),
    (states.FORBIDDEN, lambda h: append(h, becomes(GOOD, RunState.SUCCEEDED), state=RunState.READY)),
    (states.ENDED_CHANGED, lambda h: append(h, becomes(GOOD, RunState.SUCCEEDED), reason="so what")),
    (states.HELD_STARTED, lambda h: amend(h, starts(GOOD), held=Hold.FROZEN)),
    (states.UNFINISHED_MARK, lambda h: amend(h, becomes(GOOD, RunState.SUCCEEDED), finished_at=None)),
    (states.UNFINISHED_MARK, lambda h: amend(h, starts(GOOD), finished_at=LAST)),
    (states.PRUNED_OPEN, prune_waiting),
    (states.UNSEEN_CHANGE, lambda h: drop(h, starts(GOOD))),
    (states.UNSEEN_BIRTH, lambda h: drop(h, is_written(GOOD))),
    (states.UNBALANCED, lambda h: drop(h, is_written(GOOD))),
    (overlap.TOO_MANY, lambda h: drop(h, becomes(key("rude", 2), RunState.CANCELLED))),
    (overlap.TOO_MANY, lambda h: drop(h, lambda one: of(SAVED)(one) and one.run.attempt == 2)),
    (overlap.NO_VERSION, lambda h: setattr(h, "versions", {})),
]
ATTEMPTS: list[tuple[Kind, Spoil]] = [
    (attempts.TOO_OFTEN, lambda h: set_job(h, retry=Retry(2, "10s", "1m"))),
    (attempts.TOO_OFTEN, try_once_more),
    (attempts.SPENT, spend_early),
    (attempts.SPENT, lambda h: amend(h, is_written(GOOD), attempts_before_replay=1)),
    (attempts.SPENT, lambda h: amend(h, is_sent_again(key("doomed", 2)), attempts_before_replay=2)),
    (attempts.MISNUMBERED, lambda h: amend(h, starts(GOOD), attempt=2)),
    (attempts.MISNUMBERED, lambda h: amend(h, becomes(GOOD, RunState.SUCCEEDED), attempt=2)),
    (attempts.TRIED_AGAIN, lambda h: set_job(h, at_most_once=True)),
    (attempts.LATE_RESCUE, lambda h: move(h, OF_RESCUE, 20)),
    (attempts.LATE_RESCUE, lambda h: drop(h, becomes(SLOW, RunState.SUCCEEDED))),
    (attempts.LATE_RESCUE, lambda h: setattr(h, "pulses", [one for one in h.pulses if one.key != SLOW])),
    (attempts.EARLY_RESCUE, lambda h: move(h, OF_RESCUE, -5)),
    (attempts.EARLY, lambda h: move(h, starts(AGAIN, attempt=2), -1)),
    (attempts.EARLY, lambda h: move(h, starts(GOOD), -1)),
    (attempts.BACKOFF, lambda h: amend(h, waits(AGAIN), run_at=START + timedelta(minutes=3, seconds=11))),
    (attempts.BACKOFF, lambda h: amend(h, waits(AGAIN), run_at=START + timedelta(minutes=2))),
    (
        attempts.BACKOFF,
        lambda h: amend(h, waits(AGAIN), reason="waits; at the pace of the cap, as it is spent"),
    ),
    (attempts.BACKOFF, lambda h: amend(h, waits(AGAIN), reason="rescued: silence")),
    (attempts.NO_JOB, lambda h: setattr(h, "jobs", {})),
]
EFFECTS: list[tuple[Kind, Spoil]] = [
    (effects.UNGRANTED, lambda h: give(h.effects, lambda one: one.key == GOOD, attempt=2)),
    (effects.UNGRANTED, lambda h: drop(h, starts(GOOD))),
    (effects.REPEATED, lambda h: h.effects.append(h.effects[-1])),
    (effects.TWICE, lambda h: set_job(h, at_most_once=True)),
    (effects.MISSING, lambda h: setattr(h, "effects", [one for one in h.effects if one.key != GOOD])),
    (effects.TAKEN_OLD, lambda h: give(h.effects, lambda one: not one.taken_by_fenced, taken_by_fenced=True)),
    (effects.REFUSED_NEW, lambda h: give(h.effects, lambda one: one.taken_by_fenced, taken_by_fenced=False)),
    (liveness.UNENDED, lambda h: drop(h, becomes(key("beat", 8, version=2), RunState.SKIPPED))),
    (liveness.MISSED_IN_QUIET, lambda h: setattr(h, "quiet_since", START - timedelta(hours=1))),
    (liveness.LEFT_LYING, lambda h: add_row(h, GOOD, 9, key("beat", 9, version=2), version=2)),
    (durability.LOST, lambda h: h.acknowledged.append("work#two")),
    (durability.DOUBLED, lambda h: h.changes.append(h.changes[place(h, is_written(HAND))])),
    (durability.VANISHED, prune_waiting),
]
MESSAGES: list[tuple[Kind, Spoil]] = [
    (messages.NOT_ENDED, lambda h: drop(h, becomes(SENT, RunState.SUCCEEDED))),
    (
        messages.ENDED_AGAIN,
        lambda h: h.changes.append(h.changes[place(h, becomes(SENT, RunState.SUCCEEDED))]),
    ),
    (messages.NOT_PUBLISHED, lambda h: h.published.clear()),
    (messages.NOT_REPLIED, lambda h: setattr(h, "replies", {(SENT, 2, 1, "succeeded")})),
    (messages.APPLIED_TWICE, lambda h: h.handled.append(h.handled[-1])),
    (messages.APPLIED_OTHERWISE, lambda h: h.handled.pop()),
    (messages.NO_RUN, lambda h: h.arrived.update({"m-3": "work#orders/m-3"})),
    (messages.TWO_RUNS, lambda h: h.changes.append(h.changes[place(h, is_written("work#orders/m-1"))])),
    (messages.NO_MESSAGE, lambda h: h.arrived.pop("m-1")),
]
SPOILINGS = [*TICKS, *LATENESS, *FENCES, *STATES, *ATTEMPTS, *EFFECTS, *MESSAGES]


def waits(run_key: str) -> Found:
    ready = becomes(run_key, RunState.READY)
    return lambda one: ready(one) and one.before is not None


def is_sent_again(run_key: str) -> Found:
    ready = waits(run_key)
    return lambda one: ready(one) and one.run.origin is Origin.REPLAY


def is_refused(report: Any) -> bool:
    return bool(report.receipt is Receipt.REFUSED)


def is_accepted(report: Any) -> bool:
    return bool(report.receipt is Receipt.ACCEPTED)
