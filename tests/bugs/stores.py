"""Bugs that only a real store, or the code that talks to one, can have."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from fencepost.leases.etcd.renewing import Renewing
from fencepost.leases.kubernetes.lease_objects import LeaseObjects
from fencepost.leases.redis import leases as redis_leases
from fencepost.leases.redis.scripts import RELEASE, Script
from fencepost.stores.postgres import claims as postgres_claims
from fencepost.stores.postgres import leases as postgres_leases
from fencepost.stores.postgres import plans as postgres_plans
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite import connection as sqlite_connection
from fencepost.stores.sqlite import ledger as sqlite_ledger
from fencepost.stores.sqlite import opening as sqlite_opening
from fencepost.triggers.cron import expression as cron_expression
from tests.bugs.bug import Planted, bug

FENCING = "tests/integration/test_postgres_fencing.py"
SQLITE = "tests/integration/test_sqlite_connection.py"


def _reworded(queries: dict[str, str], name: str, *words: tuple[str, str]) -> Planted:
    """One query of a store with other words in it."""
    text = queries[name]
    for before, after in words:
        assert before in text, f"{name} does not say {before!r} any more"
        text = text.replace(before, after)
    return patch.dict(queries, {name: text})


@bug(
    "a claim in SQL has the lock of a retry's schedule",
    "tests/integration/test_fences_of_a_schedule.py::"
    "test_a_retry_is_not_given_a_larger_fence_than_a_later_claim_of_its_schedule[postgres]",
)
def retry_claimed_without_its_schedule() -> Planted:
    """Two claims of one schedule draw their fences, and the one that drew first commits last."""
    return _reworded(postgres_claims.QUERIES, "claim_direct", ("FOR NO KEY UPDATE SKIP LOCKED", ""))


@bug(
    "a transaction that reads the epoch without a lock is no fence",
    f"{FENCING}::test_no_epoch_is_registered_before_a_plan_in_flight_is_durable",
)
def fence_row_not_locked() -> Planted:
    """The plan has seen its epoch, a successor registers, and the plan commits after it."""
    return _reworded(postgres_plans.QUERIES, "write", ("FOR SHARE OF known", ""))


@bug(
    "now() is when the transaction began",
    "tests/leases/test_postgres_clock.py::"
    "test_a_lease_that_ran_out_while_its_row_was_waited_for_is_not_renewed",
)
def lease_judged_by_the_start_of_the_transaction() -> Planted:
    """A renewal waited for its row until the lease had run out, and says that it had not when it began."""
    return _reworded(postgres_leases.QUERIES, "renew", ("fencepost.now()", "now()"))


@bug(
    "a WAL that is not synced loses what was acknowledged",
    f"{SQLITE}::test_no_setting_is_left_to_the_library",
)
def sqlite_not_synced() -> Planted:
    """The power fails, and the last hundreds of commits that were acknowledged are not there."""

    def relaxed(package: str, file: str) -> dict[str, str]:
        queries = load_queries(package, file)
        return {**queries, "settings": queries["settings"].replace("= FULL", "= NORMAL")}

    return patch.object(sqlite_opening, "load_queries", relaxed)


@bug(
    "the write lock is taken before anything is read",
    f"{SQLITE}::test_the_time_is_not_read_before_the_lock_is_held",
)
def sqlite_write_lock_taken_late() -> Planted:
    """A transaction reads the time, waits for its lock, and decides by a time that has passed."""
    return _reworded(sqlite_connection.QUERIES, "begin_write", ("IMMEDIATE", "DEFERRED"))


@bug(
    "a conflict is told apart from a write",
    "tests/conformance/test_sqlite.py::TestSqliteStore::test_a_repeated_key_does_not_change_the_old_row",
)
def conflict_taken_as_written() -> Planted:
    """A key that is there is written over, and whoever wrote it is told that it is new."""
    words = ("DO NOTHING", "DO UPDATE SET payload = excluded.payload")
    return _reworded(sqlite_ledger.QUERIES, "enqueue", words)


@bug(
    "a lease in Redis is released by comparing its holder",
    "tests/leases/test_redis.py::TestOneServer::test_a_late_release_does_not_free_the_successors_lease",
)
def redis_releases_without_comparing() -> Planted:
    """A release that comes late deletes the key of whoever holds the lease by then."""
    held = "held[1] == holder and held[2] == ARGV[number + 2]"
    text = RELEASE.text
    assert held in text
    return patch.object(redis_leases, "RELEASE", Script(text.replace(held, "held[1]")))


@bug(
    "a key in etcd that is there is not a key that is mine",
    "tests/leases/test_etcd.py::TestOneNode::test_does_not_renew_another_holders_lease",
)
def etcd_compares_existence_only() -> Planted:
    """There is a key, so the lease is held, so the renewal went well: it is another's."""
    return patch.object(Renewing, "_is_ours", lambda self, shard, entry: entry is not None)


@bug(
    "an object in Kubernetes is written upon the version that was decided on",
    "tests/leases/test_kubernetes.py::TestKubernetesBehaviour::"
    "test_a_lease_that_was_made_anew_is_not_taken_for_the_old_one",
)
def kubernetes_writes_upon_the_newest_version() -> Planted:
    """A conflict is taken for a nuisance: the version is read once more, and what was decided before is
    written over what has happened since."""
    replace = LeaseObjects.replace

    async def blindly(self: Any, name: str, body: Any, **more: Any) -> Any:
        newest = (await self._api.call("GET", f"{self.path}/{name}")).body.get("metadata", {})
        versions = {key: newest[key] for key in ("resourceVersion", "uid") if key in newest}
        return await replace(self, name, {**body, "metadata": {**body["metadata"], **versions}}, **more)

    return patch.object(LeaseObjects, "replace", blindly)


@bug(
    "what never fires is refused",
    "tests/triggers/test_cron_refusals.py::test_what_never_fires_is_refused_with_the_fields_that_never_meet",
)
def never_taken_for_seldom() -> Planted:
    """The thirtieth of February is accepted, and looked for on every pass."""
    return patch.object(cron_expression, "ever_matches", lambda days, months: True)
