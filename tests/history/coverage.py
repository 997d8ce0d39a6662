"""What a history went through: every fault, every way of recovery, every refusal, by name and number.

A proof over histories in which nothing happened proves nothing. So the names in `REQUIRED`, and the faults
that the caller means to have caused, must all have been seen, in one history or in many together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fencepost.model.policies import OverlapKind
from fencepost.model.run import Hold, Origin, Receipt, RunRecord, RunState
from tests.history.findings import rescues
from tests.history.model import Change, History

SECOND = timedelta(seconds=1)
REQUIRED = frozenset(
    {
        "plan refused: stale",
        "takeover",
        "registered again: the same holder",
        "report refused",
        "report repeated",
        "rescue",
        "dead: lost, at most once",
        "dead: attempts exhausted",
        "retry after a failure",
        "skipped: overlap",
        "skipped: by name",
        "missed: too late",
        "missed: coalesced",
        "missed: gate",
        "missed: counted in a range",
        "catch-up run",
        "parked",
        "cancelled: asked to make way",
        "cancelled: terminated",
        "cancelled: by name",
        "withdrawn: edited",
        "withdrawn: paused or removed",
        "replayed",
        "pruned",
        "manual trigger",
        "enqueued by hand",
        "held: operator",
        "held: frozen",
        "held: gate",
        "effect refused by its fence",
        "effects of several attempts",
    }
)
"""What every campaign has to go through. There is more to be seen: see `seen`."""

BY_REASON = (
    (RunState.DEAD, "failed ", "dead: attempts exhausted"),
    (RunState.DEAD, "permanent failure", "dead: permanent failure"),
    (RunState.DEAD, "lost on attempt", "dead: lost on the last attempt"),
    (RunState.SKIPPED, "overlap with", "skipped: overlap"),
    (RunState.SKIPPED, "superseded by", "skipped: superseded"),
    (RunState.MISSED, "too late", "missed: too late"),
    (RunState.MISSED, "coalesced", "missed: coalesced"),
    (RunState.MISSED, "gate", "missed: gate"),
    (RunState.CANCELLED, "terminated by", "cancelled: terminated"),
    (RunState.CANCELLED, "asked to make way", "cancelled: asked to make way"),
    (RunState.CANCELLED, "stopped on request", "cancelled: stopped on request"),
    (RunState.CANCELLED, "cancelled; worker", "cancelled: stopped on request"),
    (RunState.WITHDRAWN, "replaced by version", "withdrawn: edited"),
)
OTHERWISE = {
    RunState.SKIPPED: "skipped: by name",
    RunState.CANCELLED: "cancelled: by name",
    RunState.WITHDRAWN: "withdrawn: paused or removed",
    RunState.MISSED: "missed: otherwise",
    RunState.DEAD: "dead: otherwise",
}
BY_HOLD = {
    Hold.OPERATOR: "held: operator",
    Hold.FROZEN: "held: frozen",
    Hold.GATE: "held: gate",
    Hold.PARKED: "parked",
}


def seen(history: History) -> Counter[str]:
    """How often each thing happened."""
    found = Counter(f"fault: {one.kind}" for one in history.faults)
    for change in history.changes:
        found.update(_of_change(change))
    found.update(_of_leaders(history))
    found["plan refused: stale"] += sum(not one.accepted for one in history.plan_writes)
    found["plan sent on a lost lease, excused"] += sum(not one.held for one in history.plans_sent)
    found["report refused"] += sum(one.receipt is Receipt.REFUSED for one in history.reports)
    found["report repeated"] += sum(one.receipt is Receipt.REPEATED for one in history.reports)
    found["missed: counted in a range"] += len(history.ranges)
    found["effect refused by its fence"] += sum(not one.taken_by_fenced for one in history.effects)
    effects = Counter(one.key for one in history.effects)
    found["effects of several attempts"] += sum(number > 1 for number in effects.values())
    found["cancelled: asked to make way"] += sum(_asks_to_make_way(history))
    found.update(_of_clock_changes(history))
    return +found


def missing(counters: Iterable[Counter[str]], fault_kinds: Iterable[str]) -> list[str]:
    """What was to be seen and was not, in all of these together."""
    together: Counter[str] = sum(counters, Counter())
    wanted = REQUIRED | {f"fault: {kind}" for kind in fault_kinds}
    return sorted(name for name in wanted if not together[name])


def _of_change(change: Change) -> Iterator[str]:
    before, after = change.before, change.after
    if after is None:
        yield "pruned"
    elif before is None:
        yield from _of_birth(after)
    else:
        if rescues(change):
            yield "rescue"
        if before.state is not after.state:
            yield from _of_move(before, after)
        yield from (name for hold, name in BY_HOLD.items() if after.held & hold and not before.held & hold)
        if after.origin is Origin.MANUAL is not before.origin:
            yield "spared by an edit"


def _of_birth(run: RunRecord) -> Iterator[str]:
    if run.schedule_id is None:
        yield "enqueued by hand"
    elif run.origin is Origin.MANUAL:
        yield "manual trigger"
    elif run.origin is Origin.BACKFILL:
        yield "filled in"


def _of_move(before: RunRecord, after: RunRecord) -> Iterator[str]:
    match after.state:
        case RunState.RUNNING:
            yield f"{after.origin.replace('_', '-')} run"
        case RunState.READY if before.state is RunState.RUNNING:
            yield from _of_wait(after.reason or "")
        case RunState.READY:
            yield "replayed" if after.origin is Origin.REPLAY else "filled in"
        case RunState.SUCCEEDED:
            yield (
                "succeeded at a later attempt"
                if after.attempt - after.attempts_before_replay > 1
                else "succeeded at once"
            )
        case _:
            yield _of_end(after)


def _of_wait(reason: str) -> Iterator[str]:
    if reason.startswith("waits for a retry"):
        yield "retry after a failure"
    if "at the pace of the cap" in reason:
        yield "retry at the pace of the cap"
    if reason.startswith("handed back"):
        yield "handed back by a stopping worker"


def _of_end(run: RunRecord) -> str:
    reason = run.reason or ""
    if run.state is RunState.DEAD and "at_most_once" in reason:
        return "dead: lost, at most once"
    for state, beginning, name in BY_REASON:
        if run.state is state and reason.startswith(beginning):
            return name
    return OTHERWISE.get(run.state, str(run.state))


def _of_leaders(history: History) -> Iterator[str]:
    last: dict[int, tuple[int, str]] = {}
    for one in history.registrations:
        epoch, holder = last.get(one.shard, (one.epoch, one.holder))
        if holder != one.holder:
            yield "takeover"
        elif epoch != one.epoch:
            yield "registered again: the same holder"
        last[one.shard] = one.epoch, one.holder


def _asks_to_make_way(history: History) -> Iterator[bool]:
    """A request to stop says nothing of who made it; one under `cancel_other` is taken for the policy's."""
    makes_way = {
        (schedule_id, one.version)
        for schedule_id, versions in history.versions.items()
        for one in versions
        if one.spec.overlap.kind is OverlapKind.CANCEL_OTHER
    }
    for before, after in ((one.before, one.after) for one in history.changes):
        if (
            before is not None
            and after is not None
            and after.cancel_requested
            and not before.cancel_requested
        ):
            yield (after.schedule_id, after.version) in makes_way


def _of_clock_changes(history: History) -> Iterator[str]:
    """Ticks where the clocks of their zone are changed."""
    zones = {
        (schedule_id, one.version): ZoneInfo(str(one.spec.trigger["tz"]))
        for schedule_id, versions in history.versions.items()
        for one in versions
        if one.spec.trigger.get("tz") not in (None, "UTC")
    }
    for change in history.changes:
        run = change.after
        if change.before is None and run is not None and run.schedule_id is not None:
            local = zones.get((run.schedule_id, run.version))
            if local is not None:
                yield from _of_clocks(run.fire_time, local)


def _of_clocks(fire_time: datetime, local: ZoneInfo) -> Iterator[str]:
    wall = fire_time.astimezone(local)
    first, second = (wall.replace(fold=fold).utcoffset() for fold in (0, 1))
    if first != second:
        yield "clocks: a tick in a fold"
    before = (fire_time - SECOND).astimezone(local).utcoffset()
    now = wall.utcoffset()
    if before is not None and now is not None and before < now:
        yield "clocks: a tick at the end of a gap"
