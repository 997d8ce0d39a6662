"""The example of a store of one's own acknowledges nothing that its disk may not have."""

import os
from pathlib import Path

import pytest

from examples.row_store.journal import JournalStore, open_store
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, RunKey
from fencepost.model.run import NewRun
from fencepost.testing.clock import VirtualClock


async def enqueue(store: JournalStore, name: str) -> None:
    run = NewRun(RunKey(f"report#{name}"), JobName("report"), {}, DEFAULT_QUEUE, 2)
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [run])


async def is_there(store: JournalStore, name: str) -> bool:
    return await store.ledger.get(DEFAULT_NAMESPACE, RunKey(f"report#{name}")) is not None


async def test_a_line_that_a_crash_has_cut_off_is_not_read_and_not_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    store = await open_store(path, VirtualClock())
    await enqueue(store, "before")
    await store.close()
    with path.open("ab") as file:
        file.write(b'{"fence": 3, "rows": [["ru')
    store = await open_store(path, VirtualClock())
    await enqueue(store, "after")
    await store.close()
    store = await open_store(path, VirtualClock())
    assert await is_there(store, "before")
    assert await is_there(store, "after")
    await store.close()


async def test_a_write_that_fails_is_not_acknowledged_and_nothing_is_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "ledger.jsonl"
    store = await open_store(path, VirtualClock())
    await enqueue(store, "before")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(StoreUnavailable, match="No space left"):
            await enqueue(store, "lost")
    with pytest.raises(StoreUnavailable):
        await enqueue(store, "later")
    with pytest.raises(StoreUnavailable):
        await is_there(store, "before")
    await store.close()
    store = await open_store(path, VirtualClock())
    assert await is_there(store, "before")
    assert not await is_there(store, "later")
    await store.close()
