"""What a judge is told about schedules with due ticks, gathered for all of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import apsw

from fencepost.model.claiming import Appetite, ScheduleFacts
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_facts
from fencepost.stores.sqlite.moments import fetch, to_us

DUE_MAX = 1_000
WALK_MAX = 2_000
QUERIES = load_queries("fencepost.stores.sqlite", "claims.sql")

Chosen: TypeAlias = Sequence[tuple[Namespace, ScheduleId]]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of some schedules, and where the rows of their due ticks are."""

    every: Sequence[ScheduleFacts]
    row_ids: dict[tuple[Namespace, RunKey], int]


def choose(due: Iterable[Any], limit: int) -> Chosen:
    """The first schedules that have a due tick; a long queue of one of them is not walked to its end."""
    walked = islice(due, WALK_MAX)
    return list(dict.fromkeys((namespace, schedule_id) for _, namespace, schedule_id in walked))[:limit]


def gather(connection: apsw.Connection, chosen: Chosen, now: StoreTime, appetite: Appetite | None) -> Facts:
    """Everything a verdict on these schedules may depend on; only ticks that the appetite wants are due."""
    if not chosen:
        return Facts([], {})
    terms = {"schedules": json.dumps(chosen), "now": to_us(now)}
    heads = fetch(connection.execute(QUERIES["facts"], terms))
    wanted = {
        "queues": None if appetite is None else json.dumps(appetite.queues),
        "jobs": None if appetite is None else json.dumps(appetite.jobs),
    }
    due = fetch(connection.execute(QUERIES["facts_due"], {**terms, **wanted, "due_max": DUE_MAX}))
    unfinished = fetch(connection.execute(QUERIES["facts_unfinished"], {"schedules": terms["schedules"]}))
    ticks, begun = _by_place(due), _by_place(unfinished)
    every = [
        to_facts(head, ticks[place], [row["run_key"] for row in begun.get(place, ())])
        for place, head in enumerate(heads)
        if place in ticks
    ]
    return Facts(every, {(chosen[row["place"]][0], row["run_key"]): row["row_id"] for row in due})


def _by_place(rows: Iterable[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    places: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        places.setdefault(row["place"], []).append(row)
    return places
