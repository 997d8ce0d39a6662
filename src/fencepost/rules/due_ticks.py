"""The schedules that have due ticks, the most urgent first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fencepost.model.claiming import Appetite, Portion
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.table import Range, Row
from fencepost.model.tables import RUNS_DUE_TICKS
from fencepost.ports.rows import Transaction
from fencepost.rules.facts import SCHEDULES_MAX, Wanted
from fencepost.rules.part import groups, pages

WALK_MAX = 2_000
"""How many due ticks of a lane are looked at for the schedules that they belong to."""

Owner: TypeAlias = tuple[Namespace, ScheduleId]


def any_run(run: Row) -> bool:
    return True


async def due_schedules(
    tx: Transaction, appetite: Appetite, walk: Sequence[Portion], wanted: Wanted
) -> list[Owner]:
    """Those of the first wanted ticks of each lane that is walked."""
    now, found = await tx.now(), dict[Owner, None]()
    for portion in walk:
        if portion.queue in appetite.queues:
            lane = RUNS_DUE_TICKS(appetite.namespace, portion.queue, portion.priority).through(now)
            found |= dict.fromkeys(map(_owner, await _first_ticks(tx, lane, wanted, portion.most)))
    return list(found)


async def late_schedules(tx: Transaction, cutoff: StoreTime, limit: int) -> list[Owner]:
    """The first schedules that have ticks which are due since then, the most urgent first."""
    firsts = list[Row]()
    for lane in await groups(tx, RUNS_DUE_TICKS(), 3):
        firsts += await _first_ticks(tx, RUNS_DUE_TICKS(*lane).through(cutoff), any_run, limit)
    firsts.sort(key=lambda run: (run["priority"], run["run_at"], run["run_key"]))
    return list(dict.fromkeys(map(_owner, firsts)))[: min(limit, SCHEDULES_MAX)]


async def _first_ticks(tx: Transaction, lane: Range, wanted: Wanted, most: int) -> list[Row]:
    """The first tick of each of the first schedules of a lane; a long queue of one of them is not walked to
    its end."""
    firsts, left = dict[Owner, Row](), WALK_MAX
    async for page in pages(tx, lane, most):
        met = list(filter(wanted, page))
        for run in met[:left]:
            firsts.setdefault(_owner(run), run)
        left -= len(met)
        if len(firsts) >= most or left <= 0:
            break
    return list(firsts.values())[:most]


def _owner(tick: Row) -> Owner:
    return tick["namespace"], tick["schedule_id"]
