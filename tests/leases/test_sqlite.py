"""Leases in SQLite keep the contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.conformance.on_sqlite import open_sqlite
from tests.leases.own import OwnLeases


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[OwnLeases]:
    opened = await open_sqlite(tmp_path / "leases.db")
    yield OwnLeases(opened)
    await opened.close()


class TestSqliteLeases(LeaseConformance, HintContract):
    """See `LeaseConformance`."""
