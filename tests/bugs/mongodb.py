"""Bugs that only a store on a replica set can have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from fencepost.ports.signals import Topic
from fencepost.rules import claims
from fencepost.stores.mongodb import each, rows
from fencepost.stores.mongodb.changes import together
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.signals import MongoSignals
from fencepost.stores.mongodb.transaction import MongoTransaction
from tests.bugs.bug import Planted, bug

CONSISTENCY = "tests/integration/test_mongodb_consistency.py"
MAJORITY = f"{CONSISTENCY}::test_what_no_majority_has_is_neither_acknowledged_nor_shown"


@bug(
    "a stream that begins anew has not told what was before",
    f"{CONSISTENCY}::test_what_happened_while_the_stream_was_broken_is_not_missed",
)
def change_stream_without_the_net() -> Planted:
    """The stream breaks, a run becomes due, the stream is opened again, and no worker looks."""
    tell = MongoSignals._tell

    def deaf(self: Any, topics: Iterable[Topic]) -> None:
        if topics is not Topic:
            tell(self, topics)

    return patch.object(MongoSignals, "_tell", deaf)


@bug(
    "a commit counts when the server has said so",
    f"{CONSISTENCY}::test_a_commit_without_an_answer_is_not_acknowledged",
)
def acknowledged_on_an_unknown_commit() -> Planted:
    """The connection breaks at the commit, the caller is told that all is well, and nothing was written."""
    commit = rows.commit

    async def hopeful(session: Any) -> None:
        try:
            await commit(session)
        except PyMongoError as error:
            if not error.has_error_label("UnknownTransactionCommitResult"):
                raise

    return patch.object(rows, "commit", hopeful)


@bug("what one server has is not durable", MAJORITY)
def written_to_the_primary_alone() -> Planted:
    """A write is acknowledged, the primary is lost, and its successor has never heard of it."""
    return patch.object(rows, "MAJORITY", WriteConcern(w=1))


@bug("what one server has may be rolled back", MAJORITY)
def read_from_the_primary_alone() -> Planted:
    """A run is shown, the primary is lost, and the run has never been."""

    async def locally(self: Any, rule: Any) -> Any:
        self.database = self.database.with_options(read_concern=ReadConcern("local"))
        async with self._client.start_session() as session:
            return await rule(MongoTransaction(self, session, set()))

    return patch.object(MongoRows, "_read", locally)


@bug(
    "a claim decides by one snapshot",
    f"{CONSISTENCY}::test_every_rule_sees_one_snapshot",
)
def claim_with_read_concern_local() -> Planted:
    """The run is of one moment and its limit of another, on shards that are not equally far."""

    async def locally(self: Any, *, snapshot: bool = False) -> Any:
        return self._client.start_session()

    return patch.object(MongoRows, "session", locally)


@bug(
    "a claim is of a run that is as it was seen",
    "tests/integration/test_mongodb_each.py::test_a_run_that_changed_since_it_was_seen_is_not_claimed",
)
def claim_without_comparing_revisions() -> Planted:
    """Two workers see the same run, and both begin it."""

    def blind(changes: Any, *, as_seen: bool) -> Any:
        return together(changes)

    return patch.object(each, "together", blind)


@bug(
    "a retry is claimed under the lock of its schedule",
    "tests/integration/test_fences_of_a_schedule.py::"
    "test_a_retry_is_not_given_a_larger_fence_than_a_later_claim_of_its_schedule[mongodb]",
)
def retry_claimed_beside_its_schedule() -> Planted:
    """Two claims of one schedule draw their fences, and the one that drew first is seen last."""

    async def unlocked(tx: Any, runs: Any) -> list[Any]:
        return list(runs)

    return patch.object(claims, "_of_free_schedules", unlocked)
