"""The table of verdicts: what is due, what the schedule is doing, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.model.claiming import DueTick, GateFacts, ScheduleFacts
from fencepost.model.policies import CatchUp, Overlap, parse_overlap
from fencepost.model.run import Origin
from tests.core.facts import (
    LATEST,
    PARALLEL,
    SEQUENTIAL,
    facts,
    finished,
    key,
    late,
    moment,
    running,
    tick,
)


@dataclass(frozen=True)
class Case:
    """What is due, what the schedule is doing, and what must come of it."""

    seen: ScheduleFacts
    now_s: float
    expected: Mapping[str, str]


TWO, ONE_WAITS = parse_overlap("allow(2)"), parse_overlap("buffer_all(1)")


def buffered(seconds: float) -> DueTick:
    return tick(seconds, overlap=Overlap.BUFFER_ONE)


CASES = {
    "on time, alone": Case(facts([tick(0)]), 1, {key(0): "start"}),
    "on time, the last one still runs": Case(
        facts([tick(60)], unfinished=[running(0)]), 60, {key(60): "skipped"}
    ),
    "on time, the last one ended since": Case(
        facts([tick(60)], ended=[finished(0, at=62)]), 65, {key(60): "skipped"}
    ),
    "on time, the last one ended before": Case(
        facts([tick(60)], ended=[finished(0, at=59)]), 65, {key(60): "start"}
    ),
    "too late, although the last one still runs": Case(
        facts([tick(0)], unfinished=[running(-60)]), 61, {key(0): "missed"}
    ),
    "too late, alone": Case(facts([tick(0)]), 61, {key(0): "missed"}),
    "latest, several late": Case(
        facts([tick(second, LATEST) for second in (0, 60, 120)]),
        150,
        {key(0): "missed", key(60): "missed", key(120): "admitted"},
    ),
    "latest, admitted, alone": Case(facts([late(0, LATEST)]), 150, {key(0): "start"}),
    "latest, admitted, a newer one is due": Case(
        facts([late(0, LATEST), tick(145, LATEST)]), 150, {key(0): "missed", key(145): "start"}
    ),
    "latest, admitted, meets an unfinished run": Case(
        facts([late(60, LATEST)], unfinished=[running(-60)]), 90, {key(60): "skipped"}
    ),
    "latest, admitted long ago": Case(facts([late(0, LATEST)]), 7200, {key(0): "start"}),
    "latest, the newest is due for another queue": Case(
        facts([tick(0, LATEST)], newest_due=moment(60)), 90, {key(0): "missed"}
    ),
    "latest, admitted, the last one ended since": Case(
        facts([late(0, LATEST)], ended=[finished(-60, at=30)]), 90, {key(0): "start"}
    ),
    "latest, a newer one is due and not planned yet": Case(
        facts([tick(0, LATEST)], unplanned=moment(60)), 90, {key(0): "missed"}
    ),
    "latest, admitted, a newer one is due and not planned yet": Case(
        facts([late(0, LATEST)], unplanned=moment(60)), 90, {key(0): "missed"}
    ),
    "latest, the one that is not planned yet is due later by its spread": Case(
        facts([tick(0, LATEST, delay_s=40)], unplanned=moment(60)), 99, {key(0): "admitted"}
    ),
    "latest, the one that is not planned yet is due after its spread": Case(
        facts([tick(0, LATEST, delay_s=40)], unplanned=moment(60)), 100, {key(0): "missed"}
    ),
    "terminate_other, a newer one is due and not planned yet": Case(
        facts([tick(0, overlap=Overlap.TERMINATE_OTHER)], unplanned=moment(30)), 40, {key(0): "skipped"}
    ),
    "sequential, one that is not planned yet makes no difference": Case(
        facts([late(0, SEQUENTIAL)], unplanned=moment(60)), 90, {key(0): "start"}
    ),
    "sequential, several late": Case(
        facts([tick(second, SEQUENTIAL) for second in (0, 60, 120)]),
        150,
        {key(0): "admitted", key(60): "admitted, waits", key(120): "admitted, waits"},
    ),
    "sequential, admitted": Case(
        facts([late(second, SEQUENTIAL) for second in (0, 60, 120)]),
        150,
        {key(0): "start", key(60): "waits", key(120): "waits"},
    ),
    "sequential, one of them runs": Case(
        facts([late(60, SEQUENTIAL)], unfinished=[running(0, Origin.CATCH_UP)]), 150, {key(60): "waits"}
    ),
    "sequential, a live one is due as well": Case(
        facts([late(0, SEQUENTIAL), tick(145, SEQUENTIAL)]), 150, {key(145): "start", key(0): "waits"}
    ),
    "sequential, a live one waits for a late one that runs, and goes next": Case(
        facts(
            [tick(145, SEQUENTIAL), late(60, SEQUENTIAL)],
            unfinished=[running(0, Origin.CATCH_UP, begun=140)],
        ),
        150,
        {key(145): "waits", key(60): "waits"},
    ),
    "sequential, the live one that waited goes before the other late ones": Case(
        facts(
            [tick(145, SEQUENTIAL), late(60, SEQUENTIAL)],
            ended=[finished(0, at=290, origin=Origin.CATCH_UP, begun=140)],
        ),
        295,
        {key(145): "start", key(60): "waits"},
    ),
    "a second live one does not wait behind the first": Case(
        facts([tick(145), tick(146)], unfinished=[running(0, Origin.BACKFILL, begun=140)]),
        150,
        {key(145): "waits", key(146): "skipped"},
    ),
    "a live one does not wait beside a live run": Case(
        facts([tick(145)], unfinished=[running(0, Origin.BACKFILL, begun=100), running(140)]),
        150,
        {key(145): "skipped"},
    ),
    "none: a tick that was late already is not excused by a replay that began later": Case(
        facts([tick(0)], unfinished=[running(-60, Origin.REPLAY, begun=70)]), 75, {key(0): "missed"}
    ),
    "buffer_one, waiting behind a run with a newer fire time": Case(
        facts([tick(0, overlap=Overlap.BUFFER_ONE, delay_s=300)], unfinished=[running(120)]),
        400,
        {key(0): "waits"},
    ),
    "parallel, where overlap allows it": Case(
        facts([late(second, PARALLEL, Overlap.ALLOW) for second in (0, 60, 120)]),
        150,
        {key(0): "start", key(60): "start", key(120): "waits"},
    ),
    "parallel, beside live runs that do not count": Case(
        facts([late(0, PARALLEL, Overlap.ALLOW)], unfinished=[running(100), running(130)]),
        150,
        {key(0): "start"},
    ),
    "parallel, under skip one at a time": Case(
        facts([late(second, PARALLEL) for second in (0, 60)]), 150, {key(0): "start", key(60): "waits"}
    ),
    "parallel, under terminate_other nothing is terminated": Case(
        facts(
            [late(0, PARALLEL, Overlap.TERMINATE_OTHER), late(60, PARALLEL, Overlap.TERMINATE_OTHER)],
            newest_due=moment(60),
        ),
        150,
        {key(0): "start", key(60): "waits"},
    ),
    "allow, several on time": Case(
        facts([tick(0, overlap=Overlap.ALLOW), tick(1, overlap=Overlap.ALLOW)], unfinished=[running(-60)]),
        2,
        {key(0): "start", key(1): "start"},
    ),
    "allow(2), one is unfinished": Case(
        facts([tick(0, overlap=TWO), tick(1, overlap=TWO)], unfinished=[running(-60)]),
        2,
        {key(0): "skipped", key(1): "start"},
    ),
    "skip, several on time after an absence: the newest runs": Case(
        facts([tick(second) for second in (0, 20, 40)]),
        50,
        {key(0): "skipped", key(20): "skipped", key(40): "start"},
    ),
    "skip, the newest was in the way of a run: the one before it runs": Case(
        facts([tick(0), tick(40)], ended=[finished(38, at=45, origin=Origin.MANUAL)]),
        50,
        {key(0): "start", key(40): "skipped"},
    ),
    "skip, what a person asked for gives way to no tick": Case(
        facts([tick(0, origin=Origin.MANUAL), tick(40)]), 50, {key(0): "start", key(40): "skipped"}
    ),
    "skip, a tick gives way to what a person asked for": Case(
        facts([tick(0), tick(20, origin=Origin.MANUAL), tick(40)]),
        50,
        {key(0): "skipped", key(20): "start", key(40): "skipped"},
    ),
    "skip, more are due than the facts hold: the newest is among the next": Case(
        facts([tick(0), tick(20)], newest_due=moment(40)), 50, {key(0): "skipped", key(20): "skipped"}
    ),
    "skip, a newer one that is filled in supersedes none": Case(
        facts([tick(0), tick(20), tick(40, origin=Origin.BACKFILL)]),
        50,
        {key(0): "skipped", key(20): "start", key(40): "waits"},
    ),
    "skip, one on time and a newer one that is too late already": Case(
        facts([tick(1, LATEST), tick(9, CatchUp("none", "1s"))]),
        10.5,
        {key(1): "start", key(9): "missed"},
    ),
    "allow does not excuse lateness": Case(facts([tick(0, overlap=Overlap.ALLOW)]), 61, {key(0): "missed"}),
    "buffer_one, the first waits and the next is skipped": Case(
        facts([buffered(60), buffered(120)], unfinished=[running(0)]),
        121,
        {key(60): "waits", key(120): "skipped"},
    ),
    "buffer_one, the one that waits is not late however long": Case(
        facts([buffered(60)], unfinished=[running(0)]), 7200, {key(60): "waits"}
    ),
    "buffer_one, its way became free": Case(
        facts([buffered(60)], ended=[finished(0, at=7200)]), 7230, {key(60): "start"}
    ),
    "buffer_one, its way has been free for too long": Case(
        facts([buffered(60)], ended=[finished(0, at=7200)]), 7261, {key(60): "missed"}
    ),
    "buffer_one, nothing was ever in its way and nobody came": Case(
        facts([buffered(60)]), 121, {key(60): "missed"}
    ),
    "buffer_one, a run by hand that began later excuses nothing": Case(
        facts([buffered(0)], unfinished=[running(50, Origin.MANUAL)]), 61, {key(0): "missed"}
    ),
    "buffer_one, a stale tick does not take the place of a current one": Case(
        facts([buffered(0), buffered(100)], unfinished=[running(50, Origin.MANUAL)]),
        101,
        {key(0): "missed", key(100): "waits"},
    ),
    "buffer_all, behind the earlier ticks of its buffer it is not late": Case(
        facts([tick(at, overlap=Overlap.BUFFER_ALL) for at in (70, 80)], unfinished=[running(60, begun=500)]),
        600,
        {key(70): "waits", key(80): "waits"},
    ),
    "buffer_all, latest: what a later run excused is coalesced": Case(
        facts(
            [tick(at, LATEST, Overlap.BUFFER_ALL) for at in (0, 30, 60)],
            unfinished=[running(65, Origin.MANUAL)],
        ),
        70,
        {key(0): "missed", key(30): "missed", key(60): "waits"},
    ),
    "buffer_all, they wait in a row": Case(
        facts([tick(at, overlap=Overlap.BUFFER_ALL) for at in (60, 70, 80)], unfinished=[running(0)]),
        81,
        {key(60): "waits", key(70): "waits", key(80): "waits"},
    ),
    "buffer_all(1), what does not fit is skipped": Case(
        facts([tick(at, overlap=ONE_WAITS) for at in (60, 70)], unfinished=[running(0)]),
        81,
        {key(60): "waits", key(70): "skipped"},
    ),
    "buffer_all, the first of a row goes when its way is free": Case(
        facts([tick(at, overlap=Overlap.BUFFER_ALL) for at in (60, 70)], ended=[finished(0, at=75)]),
        81,
        {key(60): "start", key(70): "waits"},
    ),
    "cancel_other asks and waits": Case(
        facts([tick(60, overlap=Overlap.CANCEL_OTHER)], unfinished=[running(0)]),
        61,
        {key(0): "asked", key(60): "waits"},
    ),
    "cancel_other does not ask twice": Case(
        facts([tick(60, overlap=Overlap.CANCEL_OTHER)], unfinished=[running(0, asked=True)]),
        7200,
        {key(60): "waits"},
    ),
    "cancel_other, a newer tick supersedes the one that waits": Case(
        facts(
            [tick(60, overlap=Overlap.CANCEL_OTHER), tick(120, overlap=Overlap.CANCEL_OTHER)],
            unfinished=[running(0, asked=True)],
        ),
        121,
        {key(60): "skipped", key(120): "waits"},
    ),
    "terminate_other fences it off and starts": Case(
        facts([tick(60, overlap=Overlap.TERMINATE_OTHER)], unfinished=[running(0), running(30)]),
        61,
        {key(0): "terminated", key(30): "terminated", key(60): "start"},
    ),
    "terminate_other, of two that are due only the newest starts": Case(
        facts([tick(55, overlap=Overlap.TERMINATE_OTHER), tick(60, overlap=Overlap.TERMINATE_OTHER)]),
        61,
        {key(55): "skipped", key(60): "start"},
    ),
    "terminate_other does not excuse lateness": Case(
        facts([tick(0, overlap=Overlap.TERMINATE_OTHER)], unfinished=[running(-60)]), 61, {key(0): "missed"}
    ),
    "the gate is closed: what is admitted is held": Case(
        facts([tick(0, SEQUENTIAL)], gate=GateFacts(closed=True)), 90, {key(0): "held"}
    ),
    "the gate is closed: live ticks run": Case(
        facts([tick(85, SEQUENTIAL)], gate=GateFacts(closed=True)), 90, {key(85): "start"}
    ),
    "the gate closes": Case(
        facts([late(0, SEQUENTIAL), late(60, SEQUENTIAL)], gate=GateFacts(failed=(True,) * 10)),
        90,
        {"gate": "closed", key(0): "held", key(60): "held"},
    ),
    "the gate has no say over backfills": Case(
        facts([tick(0, SEQUENTIAL, origin=Origin.BACKFILL)], gate=GateFacts(closed=True)),
        90,
        {key(0): "start"},
    ),
    "a backfill is never late and waits for its turn": Case(
        facts([tick(0, origin=Origin.BACKFILL), tick(60, origin=Origin.BACKFILL)]),
        86400,
        {key(0): "start", key(60): "waits"},
    ),
    "a backfill waits for a live run and is not skipped": Case(
        facts([tick(0, origin=Origin.BACKFILL)], unfinished=[running(86390)]), 86400, {key(0): "waits"}
    ),
    "a replay is never late": Case(
        facts([tick(0, origin=Origin.REPLAY)], ended=[finished(0, at=10)]), 86400, {key(0): "start"}
    ),
    "what is started in one verdict is not stopped in it": Case(
        facts(
            [
                tick(0, LATEST, Overlap.TERMINATE_OTHER, origin=Origin.REPLAY),
                late(60, LATEST, Overlap.TERMINATE_OTHER),
            ]
        ),
        150,
        {key(0): "start"},
    ),
    "one by hand is judged like a tick": Case(
        facts([tick(60, origin=Origin.MANUAL)], unfinished=[running(0)]), 60, {key(60): "skipped"}
    ),
    "what is parked already is not parked again": Case(
        facts([tick(60, overlap=Overlap.BUFFER_ALL, parked=True)], unfinished=[running(0)]), 61, {}
    ),
}
