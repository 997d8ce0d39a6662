"""The grounds of these tests: both stores that people keep tables in."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.transactions.ground import Ground, open_ground


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[Ground]:
    """A ledger in a file."""
    ground = await open_ground(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield ground
    await ground.store.close()


@pytest.fixture
async def on_postgres(emptied_postgres_url: str) -> AsyncIterator[Ground]:
    """A ledger on a server."""
    ground = await open_ground(emptied_postgres_url)
    yield ground
    await ground.store.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ground(request: pytest.FixtureRequest) -> Ground:
    """Both of them, one after the other."""
    found: Ground = request.getfixturevalue(f"on_{request.param}")
    return found
