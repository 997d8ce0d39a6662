"""Leases in PostgreSQL keep the contract, by its own clock, directly and behind a pooler in transaction
mode."""

from collections.abc import AsyncIterator

import pytest

from fencepost.testing.conformance.lease_harness import LeaseHarness
from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.leases.postgres.harness import PostgresLeaseHarness, postgres_harness
from tests.servers.pgbouncer import Detour, pooler_version

pytestmark = pytest.mark.postgres
CANCELS_SAFELY = (1, 20)


class TestPostgresLeases(LeaseConformance, HintContract):
    """See `LeaseConformance`."""

    @pytest.fixture
    async def harness(self, emptied_postgres_url: str) -> AsyncIterator[PostgresLeaseHarness]:
        async with postgres_harness(emptied_postgres_url) as opened:
            yield opened


@pytest.mark.proof
class TestPooledPostgresLeases(LeaseConformance):
    """See `LeaseConformance`. A pooler passes no notifications on."""

    @pytest.fixture
    async def harness(self, postgres_url: str, pgbouncer: Detour) -> AsyncIterator[PostgresLeaseHarness]:
        url = pgbouncer.through(postgres_url)
        async with postgres_harness(f"{url}?statement_cache_size=0") as opened:
            yield opened

    async def test_a_call_that_was_cancelled_does_not_answer_the_next(self, harness: LeaseHarness) -> None:
        if pooler_version() < CANCELS_SAFELY:
            pytest.skip("this PgBouncer may crash when a query is cancelled: get 1.20 or newer")
        await super().test_a_call_that_was_cancelled_does_not_answer_the_next(harness)
