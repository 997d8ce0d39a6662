"""No contract depends on which of the runs that are due at one moment PostgreSQL finds first.

The server may find them in any order, and mostly finds them as they were written; here it throws dice.
"""

import re
from collections.abc import AsyncIterator
from unittest.mock import patch

import pytest

from fencepost.stores.postgres import claims
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_postgres import open_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.proof]
BY_TIME_ALONE = re.compile(r"ORDER BY run\.run_at$", re.MULTILINE)
DICED = {
    name: BY_TIME_ALONE.sub("ORDER BY run.run_at, random()", text) for name, text in claims.QUERIES.items()
}


@pytest.fixture
async def harness(shared_postgres_url: str) -> AsyncIterator[StoreHarness]:
    with patch.dict(claims.QUERIES, DICED):
        opened = await open_postgres(shared_postgres_url)
        yield opened
        await opened.close()


class TestPostgresTies(StoreConformance):
    """See `StoreConformance`."""


def test_the_dice_are_thrown() -> None:
    changed = {name for name, text in DICED.items() if text != claims.QUERIES[name]}
    assert changed == {"outlook", "claim_direct", "lock_due"}
