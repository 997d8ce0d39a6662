"""SQLite keeps every contract by the rules alone, without an accelerator."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fencepost.rules.store import RuleStore
from fencepost.stores.sqlite import SqliteStore
from fencepost.stores.sqlite.rows import SqliteRows
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_sqlite import open_sqlite

pytestmark = pytest.mark.proof
PARTS = (
    *("jobs", "schedules", "calendars", "epochs", "plans", "ledger", "nodes", "gates", "freezes"),
    *("backfills", "audit_log", "access", "answers", "run_logs", "notifications", "steps"),
)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[StoreHarness]:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    store = opened.store
    assert isinstance(store, SqliteStore)
    plain = RuleStore(SqliteRows(store._database, store.signals))
    for name in PARTS:
        setattr(store, name, getattr(plain, name))
    yield opened
    await opened.close()


class TestSqliteRules(StoreConformance):
    """See `StoreConformance`."""
