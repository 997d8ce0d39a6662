"""What a judge is told about schedules with due ticks, gathered for all of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

import apsw

from fencepost.model.claiming import (
    FINISHED_KEPT,
    VERSIONS_SEEN,
    ClaimRequest,
    GateFacts,
    ScheduleFacts,
    StartedRun,
    gate_question,
    parked_max,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.model.run import LIVE_ORIGINS, Origin
from fencepost.rules.facts import DUE_MAX, SCHEDULES_MAX, WALK_MAX
from fencepost.rules.rows import to_facts
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import ALWAYS_US, fetch, from_us, to_us

ENDED_MAX = 8_192
QUERIES = load_queries("fencepost.stores.sqlite", "facts.sql")

Chosen: TypeAlias = Sequence[tuple[Namespace, ScheduleId]]
Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of some schedules, and where the rows of their due ticks are."""

    every: Sequence[ScheduleFacts]
    row_ids: dict[tuple[Namespace, RunKey], int]


def choose(lanes: Iterable[tuple[int, Iterable[Any]]], limit: int) -> Chosen:
    """The first schedules of each lane that have a due tick, as many as it may have; a long queue of one of
    them is not walked to its end."""
    owners: dict[tuple[Namespace, ScheduleId], None] = {}
    for most, lane in lanes:
        here = dict.fromkeys((namespace, schedule_id) for _, namespace, schedule_id in islice(lane, WALK_MAX))
        owners |= dict.fromkeys(islice((one for one in here if one not in owners), most))
        if len(owners) >= limit:
            break
    return list(owners)[: min(limit, SCHEDULES_MAX)]


def gather(
    connection: apsw.Connection, chosen: Chosen, now: StoreTime, claim_request: ClaimRequest | None, room: int
) -> Facts:
    """Everything a verdict on these schedules may depend on; only ticks that the claim request wants are
    due."""
    if not chosen:
        return Facts([], {})
    terms = {"schedules": json.dumps(chosen), "now": to_us(now)}
    terms |= {"kept": FINISHED_KEPT, "versions": VERSIONS_SEEN}
    due = _due(connection, terms, claim_request, parked_max(room, len(chosen)))
    ticks = _by_place(due)
    begun = _by_place(fetch(connection.execute(QUERIES["facts_unfinished"], terms)))
    judged = [(*chosen[place], _first_due_us(rows)) for place, rows in ticks.items()]
    heads = fetch(connection.execute(QUERIES["facts"], {**terms, "schedules": json.dumps(judged)}))
    every = [
        _facts(connection, head, ticks[place], begun.get(place, []))
        for place, head in zip(ticks, heads, strict=True)
    ]
    return Facts(every, {(chosen[row["place"]][0], row["run_key"]): row["row_id"] for row in due})


def _facts(connection: apsw.Connection, head: dict[str, Any], ticks: Rows, begun: Rows) -> ScheduleFacts:
    """The facts of one schedule; its finished runs come as one text and not as rows, like its cursors."""
    finished = tuple(_ended(*one) for one in json.loads(head["finished"]))
    head["unplanned"] = [(from_us(moment), spec) for moment, spec in json.loads(head["unplanned"])]
    facts = to_facts(head, ticks, begun, (), GateFacts(bool(head["closed"])))
    return replace(facts, finished=finished, gate=_gate(connection, head, facts))


@lru_cache(ENDED_MAX)
def _ended(
    run_key: RunKey,
    fire_time: int,
    finished_at: int,
    origin: str,
    cancelled: int,
    first_started_at: int | None,
) -> StartedRun:
    """A run that has ended; most of those of one verdict are there again in the next."""
    begun = None if first_started_at is None else StoreTime(from_us(first_started_at))
    ended = StoreTime(from_us(finished_at))
    return StartedRun(run_key, from_us(fire_time), ended, Origin(origin), bool(cancelled), begun)


def _due(
    connection: apsw.Connection, terms: dict[str, Any], claim_request: ClaimRequest | None, parked: int
) -> Rows:
    wanted = {
        "queues": None if claim_request is None else json.dumps(claim_request.queues),
        "jobs": None if claim_request is None else json.dumps(claim_request.jobs),
        "due_max": DUE_MAX,
        "parked_max": parked,
    }
    return fetch(connection.execute(QUERIES["facts_due"], {**terms, **wanted}))


def _gate(connection: apsw.Connection, head: dict[str, Any], facts: ScheduleFacts) -> GateFacts:
    """How catch-up fares is only asked where some of it is due and its gate is open."""
    question = None if facts.gate.closed else gate_question(facts.due)
    if question is None:
        return facts.gate
    terms = {
        "namespace": head["namespace"],
        "schedule_id": head["schedule_id"],
        "let_through": -ALWAYS_US if head["let_through"] is None else to_us(head["let_through"]),
        "opened_at": -ALWAYS_US if head["opened_at"] is None else to_us(head["opened_at"]),
        "waiting_max": question.waiting_max,
        "of_last": question.of_last,
    }
    waiting = connection.execute(QUERIES["gate_waiting"], terms).get
    failed = tuple(bool(dead) for (dead,) in connection.execute(QUERIES["gate_failed"], terms))
    return GateFacts(False, waiting, failed)


def _first_due_us(ticks: Rows) -> int:
    """When the first of the live ticks became due; later than everything where none is."""
    due = (to_us(tick["run_at"]) for tick in ticks if tick["origin"] in LIVE_ORIGINS)
    return min(due, default=ALWAYS_US)


def _by_place(rows: Rows) -> dict[int, Rows]:
    places: dict[int, Rows] = {}
    for row in rows:
        places.setdefault(row["place"], []).append(row)
    return places
