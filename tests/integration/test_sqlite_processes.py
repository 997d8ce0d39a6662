"""Several processes on one SQLite file: real ones, some of them killed."""

import asyncio
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import DEFAULT_NAMESPACE
from fencepost.model.run import RunFilter, RunState
from fencepost.ports.signals import Topic
from fencepost.stores.sqlite import SqliteStore, open_store
from fencepost.stores.sqlite.signals import folder_of
from tests.integration.sqlite_peer import by_hand

ROOT = Path(__file__).parents[2]
RUNS = 400
PATIENCE_S = 30

Peer: TypeAlias = Callable[[str], Coroutine[Any, Any, Process]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fencepost.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(f"sqlite:///{path}", clock=SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def peer(path: Path) -> AsyncIterator[Peer]:
    started: list[Process] = []

    async def start(role: str) -> Process:
        words = (sys.executable, "-m", "tests.integration.sqlite_peer", role, f"sqlite:///{path}")
        process = await asyncio.create_subprocess_exec(*words, cwd=ROOT, stdin=PIPE, stdout=PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_several_processes_do_not_run_anything_twice(store: SqliteStore, peer: Peer) -> None:
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand(str(number)) for number in range(RUNS)])
    peers = await asyncio.gather(*(peer("drain") for _ in range(4)))
    answers = [line for one in peers for line in (await one.communicate())[0].decode().splitlines()]
    keys, fences, receipts = zip(*(line.split() for line in answers), strict=True)
    assert len(keys) == len(set(keys)) == len(set(fences)) == RUNS
    assert set(receipts) == {"accepted"}
    assert await store.ledger.tally(DEFAULT_NAMESPACE, 600) == {RunState.SUCCEEDED: RUNS}


async def test_processes_that_meet_at_a_missing_database_do_not_set_it_up_twice(
    path: Path, peer: Peer
) -> None:
    peers = await asyncio.gather(*(peer("drain") for _ in range(4)))
    assert [await one.wait() for one in peers] == [0, 0, 0, 0]


async def test_a_run_of_another_process_does_not_wait_for_the_poll(store: SqliteStore, peer: Peer) -> None:
    heard = asyncio.Event()
    await store.signals.listen(Topic.RUNS, heard.set)
    await peer("enqueue")
    await asyncio.wait_for(heard.wait(), PATIENCE_S)


async def test_another_process_does_not_wait_for_its_poll(store: SqliteStore, peer: Peer) -> None:
    process = await peer("listen")
    assert await next_line(process) == "listening"
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand("one")])
    assert await next_line(process) == "heard"
    assert await process.wait() == 0


async def test_a_killed_writer_leaves_nothing_half_written(
    store: SqliteStore, path: Path, peer: Peer
) -> None:
    process = await peer("hang")
    assert await next_line(process) == "written"
    process.kill()
    await process.wait()
    assert await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand("after")]) == [True]
    runs = await store.ledger.list(DEFAULT_NAMESPACE, RunFilter())
    assert [run.run_key for run in runs] == [by_hand("after").run_key]
    assert is_sound(path)


async def test_what_a_killed_process_had_acknowledged_is_not_lost(
    store: SqliteStore, path: Path, peer: Peer
) -> None:
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand(str(number)) for number in range(RUNS)])
    process = await peer("drain")
    told = [await next_line(process) for _ in range(RUNS // 10)]
    process.kill()
    told += (await process.communicate())[0].decode().splitlines()
    for line in told:
        if line.endswith("accepted"):
            run = await store.ledger.get(DEFAULT_NAMESPACE, by_hand(line.split()[0].split("#")[1]).run_key)
            assert run is not None
            assert run.state is RunState.SUCCEEDED
    assert is_sound(path)


async def test_the_socket_of_a_killed_listener_does_not_stay(
    store: SqliteStore, path: Path, peer: Peer
) -> None:
    process = await peer("listen")
    assert await next_line(process) == "listening"
    process.kill()
    await process.wait()
    assert len(sockets(path)) == 1
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand("one")])
    assert sockets(path) == []


async def test_a_listener_that_is_full_is_not_mistaken_for_a_dead_one(store: SqliteStore, path: Path) -> None:
    folder_of(path).mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(str(folder_of(path) / "deaf"))
        for _ in range(2_000):
            store.signals.hint(Topic.RUNS)
        assert [one.name for one in sockets(path)] == ["deaf"]
    store.signals.hint(Topic.RUNS)
    assert not folder_of(path).exists()


async def test_closing_leaves_no_socket_behind(path: Path) -> None:
    store = await open_store(f"sqlite:///{path}", clock=SystemClock())
    await store.signals.listen(Topic.RUNS, lambda: None)
    assert len(sockets(path)) == 1
    assert folder_of(path).stat().st_mode & 0o777 == 0o700
    await store.close()
    assert not folder_of(path).exists()


async def next_line(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode().strip()


def sockets(path: Path) -> list[Path]:
    folder = folder_of(path)
    return [one for one in folder.iterdir() if not one.name.startswith(".")] if folder.exists() else []


def is_sound(path: Path) -> bool:
    connection = apsw.Connection(str(path))
    try:
        return bool(connection.pragma("integrity_check") == "ok")
    finally:
        connection.close()
