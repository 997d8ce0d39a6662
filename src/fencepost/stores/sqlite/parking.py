"""Ticks that wait for their turn, and the bell.

A parked tick is in no probe. When a run of its schedule ends the bell is rung: the first of the parked ticks
is unparked, so that a probe finds it and the schedule is judged again, with all that are parked. One that is
held for another reason too hears no bell, because unparked it would still be in no probe. Every end of a run
comes through here, and nearly always nothing is parked anywhere: that is asked first, and costs one look at
an empty index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeAlias

import apsw

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import lines

QUERIES = load_queries("fencepost.stores.sqlite", "parking.sql")

Owner: TypeAlias = tuple[Namespace, ScheduleId | None]


def ring(connection: apsw.Connection, ended: Iterable[Owner]) -> bool:
    """Unpark one tick of each schedule that a run of has ended; whether there was any."""
    schedules = {owner for owner in ended if owner[1] is not None}
    if not schedules or connection.execute(QUERIES["any_parked"]).get is None:
        return False
    return bool(_unpark(connection, schedules))


def unpark(limit: int, connection: apsw.Connection, _: StoreTime) -> int:
    """The net: ring once for every schedule with parked ticks, and for what waits for limits."""
    schedules: list[Owner] = list(connection.execute(QUERIES["parked"], {"limit": limit}))
    return _unpark(connection, schedules) + lines.net(limit, connection)


def _unpark(connection: apsw.Connection, schedules: Iterable[Owner]) -> int:
    terms = {"schedules": json.dumps(list(schedules))}
    return sum(1 for _ in connection.execute(QUERIES["ring"], terms))
