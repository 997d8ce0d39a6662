"""The commands of the page about message brokers, as they stand, on a real NATS server."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import nats
import pytest

from tests.cli.calls import call, called_json
from tests.cli.processes import SIGTERM, Process
from tests.cli.processes import started as process_started
from tests.docs.test_brokers_guide import EXAMPLES, blocks
from tests.examples.programs import LOOKS_MAX, PAUSE_S
from tests.servers.fixtures import started

BROKER = "nats://localhost"
COMMANDS = [line.removeprefix("$ fencepost ") for one in blocks("console") for line in one.splitlines()]

pytestmark = pytest.mark.nats


class Shop:
    """All that the page starts, in one folder."""

    def __init__(self, folder: Path, url: str, processes: list[Process]) -> None:
        self._place = ("--store", f"sqlite:///{folder / 'shop.db'}")
        self._url = url
        self.processes = processes

    def publish(self, subject: str, *bodies: str) -> None:
        """As a program in any language does it."""

        async def published() -> None:
            client = await nats.connect(self._url)
            for body in bodies:
                await client.jetstream().publish(subject, body.encode())
            await client.close()

        asyncio.run(published())

    def enqueue(self, job: str, payload: str) -> None:
        assert call("enqueue", job, "--payload", payload, *self._place).exit_code == 0

    def runs(self, job: str, number: int) -> list[dict[str, Any]]:
        """The runs of a job, once so many have ended."""
        found, pause = list[dict[str, Any]](), Event()
        for _ in range(LOOKS_MAX):
            runs = called_json("runs", "list", *self._place)
            found = [one for one in runs if one["job"] == job and one["finished_at"]]
            if len(found) >= number:
                return found
            pause.wait(PAUSE_S)
        raise AssertionError(f"{job} did not end {number} times: {found}")

    def run(self, key: str) -> Any:
        return called_json("runs", "show", key, *self._place)

    def period(self, schedule: str) -> str | None:
        """How often a schedule fires; None where there is none."""
        found = call("schedules", "show", schedule, "--json", *self._place)
        return None if found.exit_code else str(found.stdout.split('"interval":')[1].split('"')[1])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    from tests.servers.nats import NatsServer

    shutil.copy(EXAMPLES / "shop.py", tmp_path)
    with started(NatsServer) as server, ExitStack() as stack:
        processes: list[Process] = []
        for command in COMMANDS:
            arguments = shlex.split(command.replace(BROKER, server.url))
            processes.append(stack.enter_context(process_started(*arguments, folder=tmp_path)))
            processes[-1].wait_for(" started ")
        yield Shop(tmp_path, server.url, processes)


@pytest.mark.proof
def test_the_pages_commands_do_what_the_page_says(shop: Shop) -> None:
    """The commands of the page, each a process."""
    shop.publish("shop.orders", '{"order": 7}', '{"order": 7}', "not JSON", '{"order": 8}')
    taken = shop.runs("take_order", 3)
    assert sorted(one["state"] for one in taken) == ["dead", "succeeded", "succeeded"]
    shop.runs("invoice", 2)
    shown = shop.run("invoice#7")
    assert (shown["state"], shown["attempt"]) == ("succeeded", 1)
    assert '"number":"2026-00007"' in shown["attempts"][0]["output"]
    shop.enqueue("order-placed", '{"order": 7}')
    (event,) = shop.runs("order-placed", 1)
    assert event["state"] == "succeeded"
    for process in shop.processes:
        process.signal(SIGTERM)
    for process in shop.processes:
        assert process.ended() == 0, process.said


def test_no_schedule_is_there_but_as_the_last_message_says(shop: Shop) -> None:
    changes = (("1h", "1h"), ("2h", "2h"), (None, None), ("3h", "3h"))
    for number, (period, found) in enumerate(changes, 1):
        said = "" if period is None else f', "period": "{period}"'
        shop.publish("shop.subscriptions", f'{{"customer": "anna"{said}}}')
        runs = shop.runs("subscribe", number)
        assert {one["state"] for one in runs} == {"succeeded"}
        assert shop.period("report-anna") == found
