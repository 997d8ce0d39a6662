"""Services that are started before their store: they wait, and say so once for each state."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from signal import Signals
from urllib.parse import urlsplit

import pytest

from fencepost.cli.waiting import PAUSE_MAX_S, until_reachable
from fencepost.errors import InvalidSettings, StoreUnavailable
from tests.cli.processes import SIGINT, SIGTERM, started
from tests.servers.ports import free_port
from tests.servers.proxy import Proxy

WAITS = "waiting for the store"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.toml").write_text('[jobs.one]\ncommand = ["true"]\n')
    return tmp_path


class Opening:
    """Fails in these ways, one after the other, and then does not."""

    def __init__(self, *faults: Exception) -> None:
        self._faults = list(faults)

    async def __call__(self) -> str:
        if self._faults:
            raise self._faults.pop(0)
        return "opened"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it would have paused."""
    made: list[float] = []

    async def pause(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", pause)
    return made


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What is logged while it waits, however other tests have set up logging."""
    found: list[str] = []
    logger, handler = logging.getLogger("fencepost.start"), logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(level)


async def test_each_state_is_told_once_and_not_each_try(pauses: list[float], told: list[str]) -> None:
    refused, starting = StoreUnavailable("refused"), StoreUnavailable("starting up")
    assert await until_reachable(Opening(*[refused] * 9, *[starting] * 3), wait=True) == "opened"
    assert told == [WAITS, WAITS, "the store is there"]
    assert len(pauses) == 12
    assert pauses == sorted(pauses)
    assert max(pauses) == PAUSE_MAX_S


async def test_what_was_refused_for_good_is_not_waited_for(pauses: list[float]) -> None:
    with pytest.raises(InvalidSettings):
        await until_reachable(Opening(InvalidSettings("no such user")), wait=True)
    assert pauses == []


async def test_without_waiting_the_first_fault_is_the_last(pauses: list[float]) -> None:
    with pytest.raises(StoreUnavailable):
        await until_reachable(Opening(StoreUnavailable("refused")), wait=False)
    assert pauses == []


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_one_that_waits_is_stopped_cleanly(number: Signals, folder: Path) -> None:
    nobody = f"postgresql://nobody:secret@127.0.0.1:{free_port()}/nothing"
    with started("run", "jobs.toml", "--store", nobody, folder=folder) as process:
        process.wait_for(WAITS)
        process.signal(number)
        assert process.ended() == 0
    (line,) = process.lines
    assert "nobody:***@" in line


@pytest.mark.postgres
@pytest.mark.parametrize("command", ["run", "scheduler", "worker", "web"])
async def test_a_service_starts_as_soon_as_the_store_is_there(
    command: str, folder: Path, postgres_url: str
) -> None:
    server, port = urlsplit(postgres_url), free_port()
    url = postgres_url.replace(f":{server.port}/", f":{port}/")
    more = ("--bind", f"127.0.0.1:{free_port()}") if command == "web" else ()
    proxy = Proxy("127.0.0.1", server.port or 5432)
    with started(command, "jobs.toml", *more, "--store", url, folder=folder) as process:
        await asyncio.to_thread(process.wait_for, WAITS)
        await proxy.start(port)
        await asyncio.to_thread(process.wait_for, "node started")
        process.signal(SIGTERM)
        assert await asyncio.to_thread(process.ended) == 0
    await proxy.close()
    assert process.said.count(WAITS) == 1


@pytest.mark.postgres
def test_a_user_that_the_server_does_not_know_is_not_waited_for(folder: Path, postgres_url: str) -> None:
    url = postgres_url.replace("postgres@", "stranger:secret@")
    with started("run", "jobs.toml", "--store", url, folder=folder) as process:
        assert process.ended() == 2
    assert "correct the user or the password" in process.said
