"""What a job writes comes to the ledger: with the heartbeat, and before its end is told."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunState
from fencepost.ports.run import Run
from fencepost.services import run_logs
from fencepost.telemetry.logs import Log
from fencepost.telemetry.run_lines import RunLines, keep_run_lines
from tests.services.house import NS, House, WorkingNode, make_job, until


async def logged(house: House, run_key: str) -> list[str]:
    chunks = await house.memory.run_logs.read(NS, RunKey(run_key), limit=100)
    return [line for one in chunks for line in one.chunk.text.split("\n")]


async def open_node(house: House, work: Any, **options: Any) -> WorkingNode:
    node = WorkingNode(house, make_job(work, **options))
    await node.register()
    return node


@pytest.fixture
def listening() -> Iterator[RunLines]:
    """The process's loggers, heard."""
    root = logging.getLogger()
    level = root.level
    handler = keep_run_lines()
    root.setLevel(logging.INFO)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


class Talker:
    """A job that says something and then waits."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, run: Run) -> None:
        run.log("begun")
        await self.go.wait()
        run.log("done")


def waiting(talker: Talker) -> Any:
    async def work(run: Run) -> None:
        await talker(run)

    return work


async def test_a_run_that_ended_has_its_whole_log() -> None:
    house, talker = House(), Talker()
    talker.go.set()
    node = await open_node(house, waiting(talker))
    run_key = await house.enqueue("1")
    await node.work()
    assert await logged(house, run_key) == ["begun", "done"]
    names = house.store.names()
    assert names.index("run_logs.append") < names.index("ledger.finish")


async def test_the_log_of_a_run_that_goes_on_can_be_read() -> None:
    house, talker = House(), Talker()
    node = await open_node(house, waiting(talker))
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: any(not one.log.is_written for one in node.active))
    await node.heartbeat.run_once()
    assert await logged(house, run_key) == ["begun"]
    await node.heartbeat.run_once()
    assert len(house.store.arguments("run_logs.append")) == 1
    talker.go.set()
    await node.reported(0)
    assert await logged(house, run_key) == ["begun", "done"]


async def test_a_run_that_logs_nothing_does_not_cost_a_write() -> None:
    house = House()
    node = await open_node(house, lambda: None)
    await house.enqueue("1")
    await node.work()
    assert "run_logs.append" not in house.store.names()


async def test_many_runs_write_in_one_statement() -> None:
    house, talker = House(), Talker()
    node = await open_node(house, waiting(talker))
    for key in "123":
        await house.enqueue(key)
    await node.worker.run_once()
    await until(lambda: sum(not one.log.is_written for one in node.active) == 3)
    await node.heartbeat.run_once()
    ((pages,),) = house.store.arguments("run_logs.append")
    assert len(pages) == 3
    talker.go.set()
    await node.reported(0)


async def test_a_statement_does_not_grow_with_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "WRITE_MAX", 10)
    house, talker = House(), Talker()
    node = await open_node(house, waiting(talker))
    for key in "12345":
        await house.enqueue(key)
    await node.worker.run_once()
    await until(lambda: sum(not one.log.is_written for one in node.active) == 5)
    await node.heartbeat.run_once()
    assert [len(pages) for (pages,) in house.store.arguments("run_logs.append")] == [2, 2, 1]
    talker.go.set()
    await node.reported(0)


async def test_lines_that_do_not_get_through_in_a_beat_come_with_the_next_and_no_run_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_logs, "WRITE_MAX", 1)
    house, talker = House(heartbeat_every_s=0.05, heartbeat_timeout_s=30), Talker()
    node = await open_node(house, waiting(talker))
    keys = [await house.enqueue(key) for key in "123"]
    await node.worker.run_once()
    await until(lambda: sum(not one.log.is_written for one in node.active) == 3)
    order = [one.ticket.fence for one in node.active]
    house.store.before["run_logs.append"].append(_nothing)
    held = house.store.hold("run_logs.append")
    await node.heartbeat.run_once()
    assert held.reached.is_set()
    next(iter(node.active)).log.write("more")
    await node.heartbeat.run_once()
    pages = [page for (pages,) in house.store.arguments("run_logs.append") for page in pages]
    assert [page.ticket.fence for page in pages] == [order[0], order[1], order[1], order[2], order[0]]
    assert [await logged(house, key) for key in keys] == [["begun", "more"], ["begun"], ["begun"]]
    talker.go.set()
    await node.reported(0)


async def _nothing() -> None:
    return None


async def test_lines_are_kept_while_the_store_is_away() -> None:
    house, talker = House(), Talker()
    node = await open_node(house, waiting(talker))
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: any(not one.log.is_written for one in node.active))
    house.store.fail_after("run_logs.append")
    with pytest.raises(StoreUnavailable):
        await node.heartbeat.run_once()
    talker.go.set()
    await until(lambda: node.reporter.backlog == 1)
    house.store.fail_before("run_logs.append")
    with pytest.raises(StoreUnavailable):
        await node.reporter.run_once()
    assert (await house.run(run_key)).state is RunState.RUNNING
    await node.reported(0)
    assert await logged(house, run_key) == ["begun", "done"]
    assert (await house.run(run_key)).state is RunState.SUCCEEDED


async def test_the_lines_of_a_lost_run_are_not_written() -> None:
    house, talker = House(), Talker()
    node = await open_node(house, waiting(talker))
    run_key = await house.enqueue("1")
    await node.worker.run_once()
    await until(lambda: any(not one.log.is_written for one in node.active))
    house.clock.advance(31)
    await node.reaper.run_once()
    await node.heartbeat.run_once()
    await node.reported(0)
    assert await logged(house, run_key) == []


async def test_a_log_is_bounded_by_the_setting() -> None:
    house = House(run_log_max=4096)

    async def flood(run: Run) -> None:
        for number in range(10_000):
            run.log(f"line {number}")

    node = await open_node(house, flood)
    run_key = await house.enqueue("1")
    await node.work()
    lines = await logged(house, run_key)
    assert (lines[0], lines[-1]) == ("line 0", "line 9999")
    assert sum(map(len, lines)) < 4096


async def test_logging_of_an_async_job_is_kept_with_its_run(listening: RunLines) -> None:
    house, meet = House(), asyncio.Barrier(2)

    async def work(name: str) -> None:
        logging.getLogger("shop").info("%s begins", name)
        await meet.wait()
        await asyncio.create_task(_say(f"{name} in a task"))
        await asyncio.to_thread(logging.getLogger("shop").warning, f"{name} in a thread")

    node = await open_node(house, work)
    keys = [await house.enqueue(name, name=name) for name in ("anna", "bert")]
    await node.work()
    for key, name in zip(keys, ("anna", "bert"), strict=True):
        lines = await logged(house, key)
        assert [line.split(" ", 1)[1] for line in lines] == [
            f"info    shop {name} begins",
            f"info    shop {name} in a task",
            f"warning shop {name} in a thread",
        ]


async def _say(text: str) -> None:
    logging.getLogger("shop").info(text)


async def test_logging_of_a_plain_job_is_kept_with_its_run(listening: RunLines) -> None:
    house, threads = House(), []

    def work(run: Run) -> None:
        threads.append(threading.current_thread())
        run.log("by hand")
        try:
            raise ConnectionError("no line")
        except ConnectionError:
            logging.getLogger("shop").exception("it failed")

    node = await open_node(house, work)
    run_key = await house.enqueue("1")
    await node.work()
    lines = await logged(house, run_key)
    assert lines[0] == "by hand"
    assert "shop it failed" in lines[1]
    assert lines[-1] == "ConnectionError: no line"
    assert threads != [threading.current_thread()]


async def test_the_worker_s_own_lines_are_no_run_s(listening: RunLines) -> None:
    house = House()

    async def work(run: Run) -> None:
        Log("worker").info("nothing of the job's")
        logging.getLogger("fencepost").warning("nor this")
        logging.getLogger("fencepostal").warning("but this")

    node = await open_node(house, work)
    run_key = await house.enqueue("1")
    await node.work()
    logging.getLogger("shop").warning("outside of any run")
    (line,) = await logged(house, run_key)
    assert line.endswith("fencepostal but this")


async def test_listening_twice_does_not_keep_lines_twice(listening: RunLines) -> None:
    assert keep_run_lines() is listening
    assert sum(isinstance(one, RunLines) for one in logging.getLogger().handlers) == 1


async def test_a_warning_without_a_handler_is_shown_as_before(
    listening: RunLines, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [listening])
    logging.getLogger("shop").warning("look out")
    logging.getLogger("shop").info("not this")
    assert capsys.readouterr().err == "look out\n"
    monkeypatch.setattr(logging.getLogger(), "handlers", [listening, logging.NullHandler()])
    logging.getLogger("shop").warning("heard elsewhere")
    assert capsys.readouterr().err == ""
