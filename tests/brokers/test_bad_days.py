"""A worker as a process whose broker is not there: when it starts, and in the middle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import SIGTERM
from tests.cli.processes import started as process_started
from tests.servers.fixtures import started
from tests.servers.ports import free_port
from tests.servers.process import Server

SHOP = str(Path(__file__).parents[2] / "examples" / "processors" / "shop.toml")
ONCE = """
[jobs.order-placed]
message = { destination = "shop.events" }
parameters = { order = "integer" }
retry = { max_attempts = 1 }
"""
HASTY = {"FENCEPOST_POLL_S": "0.2"}
AWAY = "broker unavailable: what it was to carry waits"
LOOKS_MAX, PAUSE_S = 600, 0.1


def _nats() -> Server:
    from tests.servers.nats import NatsServer

    return NatsServer()


def _redis() -> Server:
    from tests.servers.redis import RedisServer

    return RedisServer()


def _rabbitmq() -> Server:
    from tests.servers.rabbitmq import RabbitServer

    return RabbitServer()


def _kafka() -> Server:
    from tests.servers.kafka import KafkaServer

    return KafkaServer(session_s=3)


BROKERS = [
    pytest.param(_nats, marks=pytest.mark.nats, id="nats"),
    pytest.param(_redis, marks=pytest.mark.redis, id="redis"),
    pytest.param(_rabbitmq, marks=pytest.mark.rabbitmq, id="rabbitmq"),
    pytest.param(_kafka, marks=pytest.mark.kafka, id="kafka"),
]


class Shop:
    """The ledger of a worker, and what is asked of it."""

    def __init__(self, folder: Path) -> None:
        self.place = ("--store", f"sqlite:///{folder / 'shop.db'}")

    def enqueue(self, key: str) -> str:
        called("enqueue", "order-placed", "--key", key, "--payload", '{"order": 7}', *self.place)
        return f"order-placed#{key}"

    def run(self, key: str) -> Any:
        return called_json("runs", "show", key, *self.place)

    def broker(self) -> Any:
        """How the node says that it stands to its broker."""
        nodes = called_json("status", *self.place)["workers"]
        return nodes[0]["broker"] if nodes else None

    def wait_for(self, look: Callable[[], bool]) -> None:
        pause = Event()
        for _ in range(LOOKS_MAX):
            if look():
                return
            pause.wait(PAUSE_S)
        raise AssertionError(f"it does not come to that: {self.broker()}")

    def is_away(self) -> bool:
        found = self.broker()
        return found is not None and found["away_s"] > 0


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.mark.parametrize("scheme", ["amqp", "nats", "kafka", "redis"])
def test_a_broker_that_is_not_there_costs_no_attempt(scheme: str, shop: Shop, tmp_path: Path) -> None:
    """A worker as a process, and clients that try for a while."""
    url = f"{scheme}://127.0.0.1:{free_port()}"
    with process_started(
        "worker", SHOP, *shop.place, folder=tmp_path, FENCEPOST_BROKER=url, **HASTY
    ) as worker:
        worker.wait_for(AWAY)
        key = shop.enqueue("1")
        shop.wait_for(shop.is_away)
        assert "away" in called("status", *shop.place)
        run = shop.run(key)
        assert (run["state"], run["attempt"]) == ("ready", 0)
        worker.signal(SIGTERM)
        assert worker.ended() == 0, worker.said
    assert worker.said.count(AWAY) == 1, worker.said
    assert "Traceback" not in worker.said


@pytest.mark.redis
def test_a_password_that_the_broker_refuses_ends_the_start_with_one_line(shop: Shop, tmp_path: Path) -> None:
    from tests.servers.redis import RedisServer

    with started(lambda: RedisServer(password="right")) as server:
        url = server.url.replace("right", "wrong")
        with process_started("worker", SHOP, *shop.place, "--broker", url, folder=tmp_path) as worker:
            assert worker.ended() == 2, worker.said
    (line,) = [one for one in worker.said.splitlines() if "password" in one]
    assert line.startswith("fencepost: broker ")
    assert "Traceback" not in worker.said
    assert "wrong" not in worker.said


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "make",
    [
        *BROKERS[:1],
        *(pytest.param(*one.values, marks=[*one.marks, pytest.mark.proof], id=one.id) for one in BROKERS[1:]),
    ],
)
def test_no_run_is_lost_while_a_broker_is_away(
    make: Callable[[], Server], shop: Shop, tmp_path: Path
) -> None:
    """Not there at the start, then there, then killed in the middle, then back."""
    with started(make) as server:
        server.kill()
        with process_started(
            "worker", SHOP, *shop.place, "--broker", server.url, folder=tmp_path, **HASTY
        ) as worker:
            worker.wait_for(AWAY)
            for number in ("1", "2"):
                key = shop.enqueue(number)
                server.start()
                shop.wait_for(lambda key=key: shop.run(key)["state"] == "succeeded")  # type: ignore[misc]
                assert shop.run(key)["attempt"] == 1
                shop.wait_for(lambda: not shop.is_away())
                server.kill()
                worker.wait_for(AWAY)
            shop.wait_for(shop.is_away)
            worker.signal(SIGTERM)
            assert worker.ended() == 0, worker.said
    assert "Traceback" not in worker.said


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("make", BROKERS)
def test_a_message_that_was_on_its_way_when_its_broker_died_is_sent_again(
    make: Callable[[], Server], shop: Shop, tmp_path: Path
) -> None:
    """Starts a broker twice and a worker; the broker stands still until the worker has claimed the run. One
    attempt is all that the run has."""
    (tmp_path / "once.toml").write_text(ONCE)
    with (
        started(make) as server,
        process_started(
            "worker", "once.toml", *shop.place, "--broker", server.url, folder=tmp_path, **HASTY
        ) as worker,
    ):
        worker.wait_for("node started")
        first = shop.enqueue("1")
        shop.wait_for(lambda: bool(shop.run(first)["state"] == "succeeded"))
        server.settle()
        server.pause()
        second = shop.enqueue("2")
        shop.wait_for(lambda: bool(shop.run(second)["state"] == "running"))
        server.kill()
        server.start()
        shop.wait_for(lambda: bool(shop.run(second)["finished_at"]))
        assert shop.run(second)["state"] == "succeeded"
        worker.signal(SIGTERM)
        assert worker.ended() == 0, worker.said
    assert "Traceback" not in worker.said
