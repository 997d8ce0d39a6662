"""PostgreSQL keeps every contract by the rules alone, without an accelerator."""

from collections.abc import AsyncIterator

import pytest

from fencepost.rules.store import RuleStore
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.postgres.store import PostgresStore
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_postgres import open_postgres
from tests.conformance.test_sqlite_rules import PARTS

pytestmark = [pytest.mark.postgres, pytest.mark.proof]


@pytest.fixture
async def harness(shared_postgres_url: str) -> AsyncIterator[StoreHarness]:
    opened = await open_postgres(shared_postgres_url)
    store = opened.store
    assert isinstance(store, PostgresStore)
    plain = RuleStore(PostgresRows(store._database))
    for name in PARTS:
        setattr(store, name, getattr(plain, name))
    yield opened
    await opened.close()


class TestPostgresRules(StoreConformance):
    """See `StoreConformance`."""
