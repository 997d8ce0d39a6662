"""How rows are kept as documents: what shares a field of entries is never there together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import bson
from pymongo import InsertOne, UpdateMany

from fencepost.core.lifecycle import ENDED
from fencepost.model.run import IN_TURN, Hold, Origin, RunState
from fencepost.model.table import Row
from fencepost.model.tables import RUNS, RUNS_DUE_DIRECT, RUNS_ENDED, RUNS_HELD
from fencepost.stores.mongodb.changes import REVISION, Change, change_of, statements
from fencepost.stores.mongodb.documents import SHARED, Document, field_of, to_document, to_row

SEEN = {REVISION: bson.ObjectId()}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOLDS = [by_people | turn for by_people in range(8) for turn in (0, Hold.PARKED, Hold.LIMITED, Hold.PACED)]


def possible_runs() -> Iterator[Row]:
    """Runs of every kind that a ledger can have: what has ended is held by nothing, what runs does not wait
    for its turn, and only runs by hand expire."""
    traits = product(RunState, (None, "a-schedule"), (0, 7), HOLDS, Origin, (False, True), (None, "slot"))
    for state, schedule, fence, held, origin, stripped, slot in traits:
        if (state in ENDED and held) or (state is RunState.RUNNING and (held & IN_TURN.value or not fence)):
            continue
        yield RUNS.row(
            {
                "namespace": "default",
                "run_key": "key",
                "job": "a-job",
                "queue": "default",
                "priority": 2,
                "run_at": NOON,
                "fire_time": NOON,
                "state": state.value,
                "schedule_id": schedule,
                "fence": fence,
                "held": held,
                "origin": origin.value,
                "finished_at": NOON if state in ENDED else None,
                "stripped": stripped,
                "slot": slot,
                "worker": "w" if state is RunState.RUNNING else None,
                "backfill_id": 3,
                "expires_at": NOON if schedule is None else None,
            }
        )


def test_no_run_is_in_two_indexes_that_share_a_field() -> None:
    met = {field: set[str]() for field in SHARED}
    for run in possible_runs():
        document = to_document(RUNS, run)
        for field in SHARED.keys() & document.keys():
            met[field].add(document[field]["index"])
    assert met == {field: {one.name for one in indexes} for field, indexes in SHARED.items()}


def test_no_large_number_comes_back_as_a_type_of_the_driver() -> None:
    """A fence of a restored ledger needs more than 32 bits, and JSON encoders refuse the driver's type."""
    row = RUNS.row(
        {"namespace": "default", "run_key": "key", "state": "ready", "fence": 2**50, "run_at": NOON}
    )
    found = to_row(RUNS, bson.decode(bson.encode(to_document(RUNS, row))))
    assert found == row
    assert type(found["fence"]) is int


def test_a_changed_row_is_the_document_that_it_would_be_if_it_were_new() -> None:
    ready = RUNS.row(
        {"namespace": "default", "run_key": "key", "state": "ready", "queue": "q", "priority": 2}
    )
    ended = {"state": "succeeded", "finished_at": NOON, "fence": 7}
    change, after = changed(ready, ended)
    assert after == to_document(RUNS, {**ready, **ended}) | SEEN
    assert change.values[field_of(RUNS_ENDED)]["index"] == RUNS_ENDED.name
    change, after = changed({**ready, "held": 1}, {"held": 0})
    assert field_of(RUNS_HELD) in change.gone
    assert after[field_of(RUNS_DUE_DIRECT)]["index"] == RUNS_DUE_DIRECT.name


def test_changes_of_one_document_keep_their_order() -> None:
    """Those of several documents are one statement, and what came before or between them stays there."""
    pending = [
        change_run("a", 1),
        change_run("b", 2),
        InsertOne({"_id": 3}),
        change_run("a", 4),
        change_run("a", 5),
    ]
    both, new, then, last = statements(pending)
    assert isinstance(both, UpdateMany)
    assert new is pending[2]
    assert [one._doc["$set"]["fence"] for one in (then, last)] == [4, 5]


def change_run(key: str, fence: int) -> Change:
    ready = RUNS.row({"namespace": "default", "run_key": key, "state": "ready", "queue": "q", "priority": 2})
    return changed(ready, {"fence": fence})[0]


def changed(row: Row, values: Row) -> tuple[Change, Document]:
    return change_of(RUNS, RUNS.key_of(row), to_document(RUNS, row), values, SEEN)
