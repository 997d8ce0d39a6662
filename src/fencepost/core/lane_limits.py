"""Who may start next: the lanes in order, and how many runs of each.

A lane is a queue and a priority. All that is known of a lane is its *head*, the `run_at` of its first due
run. The runs behind the head are not counted.

**Priorities age.** One level of priority is worth a fixed waiting time, `ageing_s`: the most urgent lane of
a queue has the smallest `run_at + priority × ageing_s` of its head. So a run of the last priority that has
waited three levels longer goes before fresh work of the first. A lane that goes before a lane of a better
priority, because it has waited, takes at most half of what its queue gets; after it the lanes are walked by
priority. So an old backlog and fresh work advance side by side, and neither waits for the other to end. When
the number is odd, the last one goes to the backlog and to fresh work in turn: the claimer counts what it has
begun of each queue, and the count gives the turn. Work that comes behind live work (catch-up, backfill,
replay) stays behind the live work of its own queue, however long it has waited.

**Queues have weights.** The room goes, run by run, to the queue that has the least for its weight. What this
worker has of the queue in progress counts too (the method of highest averages). A full worker frees one place
at a time; without the runs in progress the weights would have no effect there. Only queues with due runs take
part, so no room is kept free for a queue that has nothing to do.

The first lane of each queue comes before any second one. A lane may take as many runs as its queue was given.
The second lanes get what the first lanes leave, in the same walk. The other queues get what a queue does not
use at the next pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest

from fencepost.model.claiming import Head, LaneLimit
from fencepost.model.identifiers import Queue
from fencepost.model.job import PRIORITY_BEHIND

WEIGHT_DEFAULT = 1
NO_TURNS: Mapping[Queue, int] = {}


def urgency(head: Head, ageing_s: float) -> datetime:
    """The smaller, the sooner it is served."""
    return head.run_at + timedelta(seconds=head.priority * ageing_s)


def share(
    heads: Sequence[Head],
    room: int,
    weights: Mapping[Queue, int],
    busy: Mapping[Queue, int],
    ageing_s: float,
) -> dict[Queue, int]:
    """How much of the room each queue with due runs gets. Of two equal queues the one with the more urgent
    head goes first."""
    queues = list(_lanes(heads, ageing_s))
    if len(queues) == 1:
        return {queues[0]: room}
    given = dict.fromkeys(queues, 0)
    for _ in range(room if queues else 0):
        poorest = min(queues, key=lambda one: _load(given[one] + busy.get(one, 0) + 1, weights.get(one)))
        given[poorest] += 1
    return given


def lane_limits(
    heads: Sequence[Head], given: Mapping[Queue, int], ageing_s: float, turns: Mapping[Queue, int] = NO_TURNS
) -> tuple[LaneLimit, ...]:
    """The lanes in the order in which they are to be walked, each with its limit; lanes with a limit of 0 are
    left out. `turns` counts what was begun of each queue before."""
    lanes = _lanes(heads, ageing_s)
    by_queue = [
        _lane_limits(queue, lanes[queue], given.get(queue, 0), turns.get(queue, 0)) for queue in lanes
    ]
    in_turn = (one for rank in zip_longest(*by_queue) for one in rank if one is not None)
    return tuple(one for one in in_turn if one.most > 0)


def _load(held: int, weight: int | None) -> float:
    return held / (weight or WEIGHT_DEFAULT)


def _lanes(heads: Sequence[Head], ageing_s: float) -> dict[Queue, list[Head]]:
    """The first head of each lane of each queue in their order, the queue with the most urgent one first."""
    lanes: dict[Queue, dict[int, Head]] = {}
    for head in sorted(heads, key=lambda one: (urgency(one, ageing_s), one.priority, one.queue)):
        lanes.setdefault(head.queue, {}).setdefault(head.priority, head)
    return {queue: _behind_last(list(found.values())) for queue, found in lanes.items()}


def _behind_last(heads: Sequence[Head]) -> list[Head]:
    return sorted(heads, key=lambda one: one.priority == PRIORITY_BEHIND)


def _lane_limits(queue: Queue, heads: Sequence[Head], most: int, turn: int) -> list[LaneLimit]:
    """By priority. But the most urgent lane goes first for half of the room, and gets an odd one in turn."""
    urgent, lanes = heads[0], sorted(heads, key=lambda one: one.priority)
    half = (most + 1 - turn % 2) // 2
    first: list[LaneLimit] = []
    if half and urgent is not lanes[0]:
        lanes.remove(urgent)
        first = [LaneLimit(queue, urgent.priority, half)]
    return first + [LaneLimit(queue, one.priority, most) for one in lanes]
