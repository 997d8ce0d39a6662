"""The outbox: a message leaves if and only if the transaction that wrote it was committed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost import Fencepost, Retry, Run
from fencepost.app.outbox import message_key
from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.identifiers import KEY_LENGTH_MAX
from fencepost.model.run import RunFilter, RunState
from fencepost.operations import runs as run_operations
from tests.executors.runs import make_run
from tests.transactions.drivers import sqlite3_

PATIENCE_S = 20.0


@dataclass
class Mail:
    to: str
    text: str


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Fencepost]:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db", settings=None)
    async with app:
        yield app


async def states(app: Fencepost, job: str) -> list[tuple[str, RunState]]:
    control = await app.control()
    runs = await run_operations.find_runs(control, RunFilter())
    return [(str(one.run_key), one.state) for one in runs if one.job == job]


async def test_a_retried_attempt_does_not_send_twice_and_the_message_is_typed(app: Fencepost) -> None:
    arrived: asyncio.Queue[tuple[str, Mail]] = asyncio.Queue()

    async def deliver(run: Run, mail: Mail) -> None:
        arrived.put_nowait((run.key, mail))

    outbox = app.outbox("mail", deliver)

    @app.job(retry=Retry(max_attempts=3, base="10ms", cap="10ms", budget=None))
    async def order(run: Run) -> None:
        async with run.transaction(complete=False) as tx:
            message = Mail("anna", f"attempt {run.attempt}")
            await outbox.put(message, connection=tx, run=run, name="receipt")
        if run.attempt < 3:
            raise ConnectionError("the shop is down")
        async with run.transaction() as tx:
            await outbox.put(Mail("bob", "done"), connection=tx, run=run, name="notice")

    async with app.running(plans=False):
        await app.enqueue(order, key="7")
        got = dict([await asyncio.wait_for(arrived.get(), PATIENCE_S) for _ in range(2)])
    assert got == {
        "mail#order%237/receipt": Mail("anna", "attempt 1"),
        "mail#order%237/notice": Mail("bob", "done"),
    }
    assert arrived.empty()
    assert len(await states(app, "mail")) == 2


async def test_a_transaction_that_fails_sends_nothing(app: Fencepost) -> None:
    outbox = app.outbox("mail", lambda mail: None)
    failed = asyncio.Event()

    @app.job(retry=Retry(max_attempts=1))
    async def order(run: Run) -> None:
        try:
            async with run.transaction() as tx:
                await outbox.put("hello", connection=tx, run=run, name="receipt")
                raise ValueError("no such customer")
        finally:
            failed.set()

    async with app.running(plans=False):
        await app.enqueue(order, key="7")
        await asyncio.wait_for(failed.wait(), PATIENCE_S)
    assert await states(app, "mail") == []


async def test_plain_functions_write_too(app: Fencepost) -> None:
    arrived: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def deliver(text: str) -> None:
        loop.call_soon_threadsafe(arrived.put_nowait, text)

    outbox = app.outbox("mail", deliver, timeout="1m")

    @app.job()
    def order(run: Run) -> None:
        with run.transaction() as tx:
            outbox.put_in(tx, "hello", run=run, name="receipt")

    async with app.running(plans=False):
        await app.enqueue(order, key="7")
        assert await asyncio.wait_for(arrived.get(), PATIENCE_S) == "hello"


async def test_a_web_process_writes_by_a_connection_of_its_own(app: Fencepost) -> None:
    outbox = app.outbox("mail", lambda text: None)
    await app.open()
    url = app.settings.store
    await app.close()
    for ends, key in (("rollback", "lost"), ("commit", "kept"), ("commit", "kept")):
        async with sqlite3_(url) as hand:
            outbox.put_in(hand.connection, "hello", key=key)
            await getattr(hand, ends)()
    assert await states(app, "mail") == [("mail#kept", RunState.READY)]


def test_no_two_messages_of_any_runs_have_one_key() -> None:
    run = make_run()
    keys = [message_key(None, run, name) for name in ("a", "a/b", "a#b", "a%23b", "ä", "\ud800")]
    assert len(set(keys)) == len(keys)
    assert all(key is not None and "#" not in key and key.count("/") == 1 for key in keys)
    long = message_key(None, run, "x" * 200)
    assert long is not None
    assert len(long) <= KEY_LENGTH_MAX
    longer = {message_key(None, run, "ä" * number) for number in (190, 191)}
    assert all(len(key or "") == 64 for key in longer)
    assert len(longer) == 2


def test_a_message_of_a_run_is_named() -> None:
    run = make_run()
    with pytest.raises(UsageError, match="needs a name of its own"):
        message_key(None, run, None)
    with pytest.raises(UsageError, match="not both"):
        message_key("k", run, "receipt")
    with pytest.raises(UsageError, match="add run=run"):
        message_key(None, None, "receipt")


def test_a_function_that_takes_no_message_is_refused(tmp_path: Path) -> None:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db")
    with pytest.raises(InvalidSpec, match="takes 2 values; expected one"):
        app.outbox("two", lambda to, text: None)
    with pytest.raises(InvalidSpec, match="something else than key"):
        app.outbox("taken", lambda key: None)
