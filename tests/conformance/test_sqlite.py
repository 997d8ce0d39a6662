"""The SQLite store keeps every contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_sqlite import open_sqlite


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[StoreHarness]:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    yield opened
    await opened.close()


class TestSqliteStore(StoreConformance):
    """See `StoreConformance`."""
