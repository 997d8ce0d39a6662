"""The store of rows in a file keeps every contract, and what it was told is there when it is opened again."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.row_store.journal import JournalStore, open_store
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, RunKey
from fencepost.model.run import NewRun
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Harness:
    """The store, and the hand on its clock."""

    store: JournalStore
    clock: VirtualClock
    shards: int = 8

    @property
    def now(self) -> StoreTime:
        return StoreTime(self.clock.wall())

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def set_back(self, seconds: float) -> None:
        self.clock.set_back(seconds)

    async def close(self) -> None:
        await self.store.close()


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[StoreHarness]:
    clock = VirtualClock(START)
    opened = Harness(await open_store(tmp_path / "ledger.jsonl", clock), clock)
    yield opened
    await opened.close()


class TestJournalStore(StoreConformance):
    """See `StoreConformance`."""


async def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "ledger.jsonl", VirtualClock(START)
    run = NewRun(RunKey("mail#1"), JobName("mail"), {"to": "ada"}, DEFAULT_QUEUE, 2)
    first = await open_store(path, clock)
    await first.ledger.enqueue(DEFAULT_NAMESPACE, [run])
    await first.close()
    second = await open_store(path, clock)
    found = await second.ledger.get(DEFAULT_NAMESPACE, run.run_key)
    assert found is not None
    assert found.payload == {"to": "ada"}
    await second.close()
