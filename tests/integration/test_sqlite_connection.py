"""The writer thread: who is answered when, and what one caller can do to another."""

import asyncio
import os
import subprocess
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from fencepost.clock import SystemClock
from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.model.clocks import StoreTime
from fencepost.stores.sqlite import opening, turns
from fencepost.stores.sqlite.connection import GROUP_MAX, Database
from fencepost.stores.sqlite.opening import connect

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class JumpingClock(SystemClock):
    """A wall clock that somebody sets."""

    shown = NOW

    def wall(self) -> datetime:
        return self.shown


@pytest.fixture
def clock() -> JumpingClock:
    return JumpingClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
async def database(path: Path, clock: JumpingClock) -> AsyncIterator[Database]:
    opened = Database(path, clock)
    await opened.open()
    await opened.transact(lambda connection, _: run(connection, "CREATE TABLE notes (text TEXT UNIQUE)"))
    yield opened
    await opened.close()


def run(connection: apsw.Connection, statement: str, *values: str) -> list[str]:
    return [row[0] for row in connection.execute(statement, values)]


def note(connection: apsw.Connection, text: str) -> None:
    run(connection, "INSERT INTO notes VALUES (?)", text)


async def notes(database: Database) -> list[str]:
    return await database.read(lambda connection, _: run(connection, "SELECT text FROM notes ORDER BY 1"))


class Gate:
    """A hop that holds the thread, so that those behind it wait together."""

    def __init__(self) -> None:
        self.held, self.open = threading.Event(), threading.Event()

    def __call__(self, connection: apsw.Connection, now: StoreTime) -> None:
        self.held.set()
        assert self.open.wait(10)


async def test_one_that_fails_does_not_spoil_those_that_share_its_commit(database: Database) -> None:
    def fail(connection: apsw.Connection, _: StoreTime) -> None:
        note(connection, "spoilt")
        raise ValueError("a caller's own fault")

    gate = Gate()
    hops = [asyncio.ensure_future(database.transact(gate))]
    await asyncio.to_thread(gate.held.wait)
    hops += [
        asyncio.ensure_future(database.transact(lambda connection, _: note(connection, "first"))),
        asyncio.ensure_future(database.transact(fail)),
        asyncio.ensure_future(database.transact(lambda connection, _: note(connection, "last"))),
    ]
    await asyncio.sleep(0)
    gate.open.set()
    results = await asyncio.gather(*hops, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), type(None), ValueError, type(None)]
    assert await notes(database) == ["first", "last"]


async def test_waiting_calls_do_not_pay_for_a_commit_each(database: Database, path: Path) -> None:
    gate = Gate()
    held = asyncio.ensure_future(database.transact(gate))
    await asyncio.to_thread(gate.held.wait)
    seen: list[int] = []

    def write(text: str) -> asyncio.Future[None]:
        def work(connection: apsw.Connection, _: StoreTime) -> None:
            note(connection, text)
            seen.append(count_from_outside(path))

        return asyncio.ensure_future(database.transact(work))

    writes = [write(str(number)) for number in range(GROUP_MAX + 1)]
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(held, *writes)
    assert seen == [0] * GROUP_MAX + [GROUP_MAX]


async def test_no_call_is_answered_before_the_commit(database: Database, path: Path) -> None:
    await database.transact(lambda connection, _: note(connection, "one"))
    assert count_from_outside(path) == 1


async def test_a_caller_that_left_does_not_break_the_thread(database: Database) -> None:
    gate = Gate()
    running = asyncio.ensure_future(database.transact(gate))
    await asyncio.to_thread(gate.held.wait)
    waiting = asyncio.ensure_future(database.transact(lambda connection, _: note(connection, "never")))
    await asyncio.sleep(0)
    running.cancel()
    waiting.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    gate.open.set()
    await database.transact(lambda connection, _: note(connection, "after"))
    assert await notes(database) == ["after"]


async def test_two_event_loops_do_not_get_each_others_answers(database: Database) -> None:
    async def count(name: str) -> list[str]:
        return [await database.transact(lambda _connection, _now: name) for _ in range(200)]

    elsewhere = asyncio.to_thread(lambda: asyncio.run(count("there")))
    there, here = await asyncio.gather(elsewhere, count("here"))
    assert (set(there), set(here)) == ({"there"}, {"here"})


async def test_time_does_not_run_backwards(database: Database, clock: JumpingClock) -> None:
    assert database.now() == NOW
    clock.shown = NOW - timedelta(seconds=1)
    assert await database.transact(lambda _, now: now) == NOW
    clock.shown = NOW + timedelta(seconds=1)
    assert await database.read(lambda _, now: now) == NOW + timedelta(seconds=1)


async def test_time_does_not_stand_still_for_an_hour(database: Database, clock: JumpingClock) -> None:
    assert database.now() == NOW
    clock.shown = NOW - timedelta(hours=1)
    assert await database.transact(lambda _, now: now) == NOW - timedelta(hours=1)


async def test_the_time_is_not_read_before_the_lock_is_held(
    database: Database, path: Path, clock: JumpingClock
) -> None:
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(database.transact(lambda _, now: now))
    await asyncio.sleep(0.05)
    clock.shown = NOW + timedelta(seconds=20)
    other.execute("COMMIT")
    other.close()
    assert await waiting == NOW + timedelta(seconds=20)


async def test_a_database_that_stays_locked_is_unavailable_and_not_stuck(
    database: Database, path: Path
) -> None:
    await database.read(lambda connection, _: connection.set_busy_timeout(10))
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await database.transact(lambda connection, _: note(connection, "never"))
    assert await notes(database) == []
    other.execute("COMMIT")
    other.close()
    await database.transact(lambda connection, _: note(connection, "later"))


async def test_a_transaction_that_is_lost_as_a_whole_is_unknown_to_all(database: Database) -> None:
    def lose(connection: apsw.Connection, _: StoreTime) -> None:
        connection.execute("ROLLBACK")
        raise apsw.FullError("database or disk is full")

    gate = Gate()
    held = asyncio.ensure_future(database.transact(gate))
    await asyncio.to_thread(gate.held.wait)
    hops = [
        asyncio.ensure_future(database.transact(lambda connection, _: note(connection, "first"))),
        asyncio.ensure_future(database.transact(lose)),
    ]
    await asyncio.sleep(0)
    gate.open.set()
    await held
    results = await asyncio.gather(*hops, return_exceptions=True)
    assert [type(result) for result in results] == [StoreUnavailable, StoreUnavailable]
    assert await notes(database) == []


async def test_a_closed_database_does_not_keep_its_callers_waiting(path: Path, clock: JumpingClock) -> None:
    database = Database(path, clock)
    await database.open()
    last = asyncio.ensure_future(database.transact(lambda _connection, _now: "served"))
    await asyncio.sleep(0)
    await database.close()
    assert await last == "served"
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.read(lambda _connection, now: now)


def count_from_outside(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        return len(run(connection, "SELECT text FROM notes"))
    finally:
        connection.close()


async def test_work_is_not_acknowledged_into_a_file_that_was_removed(database: Database, path: Path) -> None:
    await asyncio.to_thread(path.unlink)
    with pytest.raises(StoreReplaced, match="deleted or replaced"):
        await database.transact(lambda connection, _: note(connection, "lost"))


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_a_commit_into_a_file_that_was_removed_meanwhile_is_not_acknowledged(
    database: Database, path: Path, suffix: str
) -> None:
    def work(connection: apsw.Connection, _: StoreTime) -> None:
        note(connection, "lost")
        Path(f"{path}{suffix}").unlink()

    with pytest.raises(StoreReplaced, match=f"{path.name}{suffix} was deleted or replaced"):
        await database.transact(work)
    with pytest.raises(StoreReplaced):
        await database.read(lambda connection, _: connection.in_transaction)


async def test_a_file_that_comes_back_as_another_is_not_written(database: Database, path: Path) -> None:
    wal = Path(f"{path}-wal")
    content = await asyncio.to_thread(wal.read_bytes)
    await asyncio.to_thread(wal.unlink)
    await asyncio.to_thread(wal.write_bytes, content)
    with pytest.raises(StoreReplaced, match="-wal was deleted or replaced"):
        await database.transact(lambda connection, _: note(connection, "lost"))


PAGES = 50


async def fill(database: Database, path: Path) -> None:
    """The database has many pages, and all are in its file."""
    for number in range(PAGES):
        await database.transact(lambda connection, _: note(connection, f"{number:04}" * 1024))  # noqa: B023
    await asyncio.to_thread(_checkpoint, path)


def _checkpoint(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def size_of(path: Path) -> int:
    return path.stat().st_size


def overwrite(path: Path, content: bytes) -> None:
    """The file stays the same one. Another process does it: closing it here would let go of its locks."""
    other = path.with_name("other.db")
    other.write_bytes(content)
    subprocess.run(["cp", other, path], check=True)


@pytest.mark.parametrize("share", [0.5, 1.0, 1.5], ids=["shorter", "as long", "longer"])
async def test_a_database_that_is_overwritten_is_not_taken_for_a_store_that_is_away(
    database: Database, path: Path, share: float
) -> None:
    await fill(database, path)
    size = size_of(path)
    await asyncio.to_thread(overwrite, path, b"\1" * int(share * size))
    with pytest.raises(StoreReplaced, match=r"is damaged.* restore a backup .*migrate --restored"):
        await database.transact(lambda connection, _: note(connection, "lost"))
    with pytest.raises(StoreReplaced):
        await database.read(lambda connection, _: connection.in_transaction)
    assert "notes.db-replaced" in await asyncio.to_thread(os.listdir, path.parent)


async def test_a_database_that_is_vacuumed_goes_on(database: Database, path: Path) -> None:
    await fill(database, path)
    size = size_of(path)
    await database.transact(lambda connection, _: run(connection, "DELETE FROM notes WHERE text > '0001'"))

    def vacuum() -> None:
        with closing(apsw.Connection(str(path))) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    await asyncio.to_thread(vacuum)
    assert size_of(path) < size
    await database.transact(lambda connection, _: note(connection, "kept"))
    assert "kept" in await notes(database)


def test_no_setting_is_left_to_the_library(path: Path) -> None:
    with closing(connect(path)) as connection:
        names = ("journal_mode", "synchronous", "temp_store", "cache_size")
        assert [connection.pragma(name) for name in names] == ["wal", 2, 2, -16384]


def test_a_connection_that_opens_while_the_last_one_closes_is_not_held_to_its_files(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The close deletes `-wal` and `-shm`, after the other connection has looked at them."""
    first, files = opening.connect_watched(path)
    entered, closed = threading.Event(), threading.Event()

    def late(path: Path) -> apsw.Connection:
        entered.set()
        closed.wait(1)
        return connect(path)

    monkeypatch.setattr(opening, "connect", late)
    with ThreadPoolExecutor(1) as thread:
        second = thread.submit(opening.connect_watched, path)
        assert entered.wait(30)
        opening.disconnect(first, files)
        closed.set()
        opening.disconnect(*second.result())


def until_another_waits(watch: turns.Turns) -> None:
    for _ in range(30_000):
        if watch.any_waits():
            return
        threading.Event().wait(0.001)
    raise AssertionError("no connection waits for the lock")


async def test_a_connection_that_writes_all_the_time_does_not_keep_another_waiting(
    database: Database, path: Path, clock: JumpingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "TURN_S", 0.0)
    monkeypatch.setattr(turns, "GIVE_WAY_MAX_S", 60.0)
    monkeypatch.setattr(turns, "LOOK_EVERY_S", 0.2)
    quiet, gate, watch = Database(path, clock), Gate(), turns.Turns(path)
    await quiet.open()
    hops = [asyncio.ensure_future(database.transact(gate))]
    await asyncio.to_thread(gate.held.wait)
    hops.append(asyncio.ensure_future(quiet.transact(lambda connection, _: note(connection, "quiet"))))
    await asyncio.to_thread(until_another_waits, watch)
    hops.append(asyncio.ensure_future(database.transact(lambda connection, _: note(connection, "busy"))))
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(*hops)
    in_order = await quiet.read(
        lambda connection, _: run(connection, "SELECT text FROM notes ORDER BY rowid")
    )
    await quiet.close()
    watch.close()
    assert in_order == ["quiet", "busy"]


async def test_one_that_waits_and_never_takes_its_turn_does_not_stop_the_others(
    database: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "TURN_S", 0.0)
    stopped, another = turns.Turns(path), turns.Turns(path)
    assert stopped.wait(0)
    assert another.any_waits()
    await database.transact(lambda connection, _: note(connection, "one"))
    await database.transact(lambda connection, _: note(connection, "two"))
    stopped.close()
    assert not another.any_waits()
    another.close()
    assert await notes(database) == ["one", "two"]
