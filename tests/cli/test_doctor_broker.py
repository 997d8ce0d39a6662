"""`fencepost doctor` on an application that needs a message broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import call, called, refused
from tests.servers.fixtures import started
from tests.servers.ports import free_port

SHOP = str(Path(__file__).parents[2] / "examples" / "processors" / "shop.toml")
DESTINATIONS = ["fencepost.replies.default", "shop.events", "shop.orders", "thumbs"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def examined(*arguments: str) -> Any:
    """What is said of the broker, and the exit code of a strict call."""
    result = call("doctor", SHOP, "--only", "run-key", "--strict", "--json", *arguments)
    return json.loads(result.stdout)["broker"], result.exit_code


@pytest.mark.redis
def test_a_destination_that_is_not_there_is_told_with_its_command_and_not_created() -> None:
    from tests.servers.redis import RedisServer

    with started(RedisServer) as server:
        found, code = examined("--broker", server.url)
        assert (found["name"], found["destinations"], found["trouble"]) == ("redis", DESTINATIONS, None)
        assert list(found["missing"]) == DESTINATIONS
        assert code == 1
        assert server.call("EXISTS", *DESTINATIONS) == 0
        lines = called("doctor", SHOP, "--broker", server.url).splitlines()
        (told,) = [one for one in lines if "destination thumbs" in one]
        assert told.startswith("warn     broker     destination thumbs is not there: ")
        command = found["missing"]["thumbs"]
        assert told.endswith(command)
        for one in found["missing"].values():
            verb, *names = one.partition("XGROUP ")[2].split()
            server.call(f"XGROUP {verb}", *names)
        assert examined("--broker", server.url) == (found | {"missing": {}}, 0)


@pytest.mark.redis
def test_a_refused_password_and_an_absent_broker_are_one_line_each() -> None:
    from tests.servers.redis import RedisServer

    with started(lambda: RedisServer(password="right")) as server:
        found, code = examined("--broker", server.url.replace("right", "wrong"))
    assert "correct the user or the password" in found["trouble"]
    assert "wrong" not in found["trouble"]
    assert code == 1
    found, code = examined("--broker", f"redis://127.0.0.1:{free_port()}")
    assert "is the server running" in found["trouble"]
    assert "\n" not in found["trouble"]
    assert code == 1


def test_jobs_that_are_sent_without_a_broker_are_told() -> None:
    found, code = examined()
    assert "no broker is set, and what goes over fencepost.replies.default, shop.events" in found["trouble"]
    assert "add --broker URL" in found["trouble"]
    assert code == 1


def test_a_broker_that_was_not_to_be_asked_is_not() -> None:
    found, code = examined("--offline", "--broker", f"redis://127.0.0.1:{free_port()}")
    assert (found, code) == (None, 0)


def test_a_url_that_says_nothing_useful_is_one_line() -> None:
    assert 'broker "gopher://…": expected' in refused("doctor", SHOP, "--broker", "gopher://x")
