"""A good history in which all that `coverage` asks for happens at least once, in eight minutes."""

from __future__ import annotations

from fencepost.model.policies import CatchUp, Overlap, parse_overlap
from fencepost.model.run import Hold, Origin, Receipt, RunState
from tests.history.builder import Pen, at_minutes
from tests.history.model import History

THROUGH = 8


def eventful() -> History:
    """A fresh one each time: tests spoil it."""
    pen = Pen()
    _leaders(pen)
    for tell in STORIES:
        pen.wait_until(1)
        tell(pen)
    return pen.close(THROUGH)


def _leaders(pen: Pen) -> None:
    pen.fault("crash", 10)
    for holder, epoch in (("node-1", 1), ("node-2", 2), ("node-2", 3)):
        pen.lead(holder, epoch)
        pen.write_plan()
        pen.wait(10)
    pen.write_plan(epoch=1)


def _beat(pen: Pen) -> None:
    """A good tick, one that is tried again, one that is rescued, one that outlasts an edit."""
    pen.schedule("beat")
    good, again, saved, long = (pen.plan("beat", minute) for minute in (2, 3, 4, 5))
    pen.wait_until(2)
    _run(pen, good)
    pen.report(pen.row(good), Receipt.REPEATED)
    pen.wait_until(3)
    pen.start(again)
    pen.fail(again, wait_s=5)
    pen.wait(5)
    _run(pen, again)
    pen.wait_until(4)
    _rescued(pen, saved)
    _edited(pen, long)


def _rescued(pen: Pen, saved: str) -> None:
    pen.start(saved)
    stalled = pen.row(saved)
    pen.wait(31)
    pen.rescue(saved)
    pen.wait(1)
    _run(pen, saved)
    pen.effect(saved, stalled)
    pen.report(stalled, Receipt.REFUSED)


def _edited(pen: Pen, long: str) -> None:
    withdrawn = pen.plan("beat", 6)
    pen.wait_until(5)
    pen.start(long)
    pen.work(long, 30)
    pen.schedule("beat")
    pen.end(withdrawn, RunState.WITHDRAWN, "replaced by version 2")
    new, slow, skipped = (pen.plan("beat", minute) for minute in (6, 7, 8))
    pen.wait(20)
    pen.succeed(long)
    pen.wait_until(6)
    _run(pen, new)
    pen.wait_until(7)
    pen.start(slow)
    pen.work(slow, 61)
    pen.end(skipped, RunState.SKIPPED, f"overlap with {slow}", blocked_by=slow)
    pen.succeed(slow)


def _paused(pen: Pen) -> None:
    pen.schedule("paused", at_minutes(4))
    tick = pen.plan("paused", 4)
    pen.wait_until(3)
    pen.stop("paused")
    pen.end(tick, RunState.WITHDRAWN, "paused")
    pen.wait_until(5)
    pen.schedule("paused", at_minutes(4, 6))
    tick = pen.plan("paused", 6)
    pen.wait_until(6)
    _run(pen, tick)


def _once(pen: Pen) -> None:
    pen.schedule("once", at_minutes(2), job="once")
    tick = pen.plan("once", 2)
    pen.wait_until(2)
    pen.start(tick)
    pen.effect(tick)
    pen.wait(32)
    pen.rescue(tick, RunState.DEAD, "lost: silence; the job is at_most_once")


def _doomed(pen: Pen) -> None:
    """All attempts fail; replayed, it succeeds, and retention takes it."""
    pen.schedule("doomed", at_minutes(2))
    tick = pen.plan("doomed", 2)
    pen.wait_until(2)
    for wait_s in (9, 19):
        pen.start(tick)
        pen.fail(tick, wait_s)
        pen.wait(wait_s)
    pen.start(tick)
    pen.report(pen.row(tick), Receipt.ACCEPTED)
    pen.end(tick, RunState.DEAD, "failed 3 of 3 attempts")
    pen.wait(10)
    pen.replay(tick)
    _run(pen, tick)
    pen.wait(10)
    pen.prune(tick)


def _late(pen: Pen) -> None:
    pen.schedule("late", at_minutes(2, 3, 4, 5), catch_up=CatchUp("latest", "200s"))
    late, coalesced, gated, caught_up = (pen.plan("late", minute) for minute in (2, 3, 4, 5))
    pen.wait_until(6)
    pen.end(late, RunState.MISSED, "too late: max_lateness is 200s")
    pen.end(coalesced, RunState.MISSED, "coalesced into the tick of 2026-03-29T00:04:00Z")
    pen.change(gated, origin=Origin.CATCH_UP, held=Hold.GATE)
    pen.end(gated, RunState.MISSED, "gate: drop, by somebody")
    pen.change(caught_up, origin=Origin.CATCH_UP)
    _run(pen, caught_up)


def _in_turn(pen: Pen) -> None:
    """Two that are late, one after the other."""
    pen.schedule("in turn", at_minutes(2, 3), Overlap.ALLOW, catch_up=CatchUp("sequential"))
    ticks = [pen.plan("in turn", minute) for minute in (2, 3)]
    pen.wait_until(4)
    for tick in ticks:
        pen.change(tick, origin=Origin.CATCH_UP)
    for tick in ticks:
        _run(pen, tick)


def _ranged(pen: Pen) -> None:
    pen.schedule("ranged", at_minutes(2, 3, 4))
    pen.wait_until(4)
    pen.miss("ranged", 2, 3, count=2)
    _run(pen, pen.plan("ranged", 4))


def _buffered(pen: Pen) -> None:
    pen.schedule("buffered", at_minutes(2, 3, 4), parse_overlap("buffer_all(2)"))
    first, *behind = (pen.plan("buffered", minute) for minute in (2, 3, 4))
    pen.wait_until(2)
    pen.start(first)
    for tick in behind:
        pen.work(first, 65)
        pen.change(tick, held=Hold.PARKED, reason=f"waits behind {first}")
    pen.work(first, 5)
    pen.succeed(first)
    for tick in behind:
        pen.change(tick, held=Hold.NONE)
        _run(pen, tick)


def _polite(pen: Pen) -> None:
    pen.schedule("polite", at_minutes(2, 3), Overlap.CANCEL_OTHER)
    first, second = (pen.plan("polite", minute) for minute in (2, 3))
    pen.wait_until(2)
    pen.start(first)
    pen.work(first, 60)
    pen.change(first, cancel_requested=True)
    pen.wait(5)
    pen.report(pen.row(first), Receipt.ACCEPTED)
    pen.end(first, RunState.CANCELLED, "stopped on request")
    _run(pen, second)


def _rude(pen: Pen) -> None:
    pen.schedule("rude", at_minutes(2, 3), Overlap.TERMINATE_OTHER)
    first, second = (pen.plan("rude", minute) for minute in (2, 3))
    pen.wait_until(2)
    pen.start(first)
    pen.work(first, 60)
    pen.terminate(first, by=second)
    _run(pen, second)


def _named(pen: Pen) -> None:
    """Called off, held past an edit, frozen: all by name."""
    pen.schedule("named", at_minutes(2, 3, 5, 6))
    skipped, frozen, held, cancelled = (pen.plan("named", minute) for minute in (2, 3, 5, 6))
    pen.end(skipped, RunState.SKIPPED, "not this one")
    pen.end(cancelled, RunState.CANCELLED, "nor this one")
    pen.change(frozen, held=Hold.FROZEN)
    pen.change(held, held=Hold.OPERATOR)
    pen.wait_until(3)
    pen.change(frozen, held=Hold.NONE)
    _run(pen, frozen)
    pen.wait_until(4)
    pen.schedule("named", at_minutes(2))
    pen.change(held, origin=Origin.MANUAL)
    pen.wait_until(5)
    pen.change(held, held=Hold.NONE)
    _run(pen, held)


def _by_hand(pen: Pen) -> None:
    pen.schedule("asked", at_minutes(1))
    pen.wait_until(2.5)
    by_hand = {"state": RunState.READY, "epoch": 0}
    _run(pen, pen.plan("asked", 2.5, **by_hand, origin=Origin.MANUAL))
    _run(pen, pen.plan("asked", 2, **by_hand, origin=Origin.BACKFILL))
    key = pen.enqueue("one")
    _run(pen, key)
    pen.wait(60)
    pen.change(key, payload={}, error=None, progress=None)


def _sent(pen: Pen) -> None:
    """The message of the first attempt is lost, a processor does the second."""
    pen.schedule("sent", at_minutes(2), job="sent")
    sent = pen.plan("sent", 2)
    pen.wait_until(2)
    pen.start(sent)
    pen.wait(31)
    pen.rescue(sent)
    pen.wait(1)
    pen.start(sent)
    pen.publish(sent)
    pen.handle(sent)
    pen.wait(2)
    pen.succeed(sent)


def _arrived(pen: Pen) -> None:
    """Messages become runs."""
    for identity in ("m-1", "m-2"):
        pen.arrive(identity)
        _run(pen, pen.history.arrived[identity])


def _run(pen: Pen, key: str) -> None:
    pen.start(key)
    pen.wait(2)
    pen.succeed(key)


STORIES = (
    _beat,
    _paused,
    _once,
    _doomed,
    _late,
    _in_turn,
    _ranged,
    _buffered,
    _polite,
    _rude,
    _named,
    _by_hand,
    _sent,
    _arrived,
)
