"""`fencepost web` as a real process: how it starts, what it says, and how it stops."""

import asyncio
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from signal import Signals

import pytest

from fencepost.web.binding import bound, is_loopback
from tests.cli.calls import called, called_json, refused
from tests.cli.processes import SIGINT, SIGKILL, SIGTERM
from tests.web.house import CLAIMS, TOKEN
from tests.web.serving import LOOK_AGAIN_S, LOOKS_MAX, MANIFEST, Server

PATIENT_S = 60


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(f"sqlite:///{tmp_path / 'store.db'}")


def test_it_refuses_to_start_with_a_token_that_can_be_guessed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", "too-short-to-be-one")
    for verb in ("web", "run"):
        line = refused(verb, str(MANIFEST), "--bind", "127.0.0.1:0", "--store", url)
        assert 'make one: export FENCEPOST_TOKEN="$(openssl rand -hex 32)"' in line
        assert "too-short" not in line
    assert not Path(url.removeprefix("sqlite:///")).exists()


def test_without_the_setting_only_tokens_of_the_store_let_in(server: Server, tmp_path: Path) -> None:
    called("migrate", "--store", server.store)
    made = called_json("token", "create", "ci", "--role", "viewer", "--store", server.store)
    with server.process(tmp_path, FENCEPOST_TOKEN="") as process:
        for token in (None, TOKEN, ""):
            assert server.ask("GET", "/api/v1/openapi.json", token=token).problem == "unauthorized"
        assert server.ask("GET", "/api/v1/openapi.json", token=made["token"]).status == 200
        called("token", "revoke", made["token_id"], "--store", server.store)
        assert until_refused(server, made["token"])
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert made["token"].rpartition("_")[2] not in process.said


def until_refused(server: Server, token: str) -> bool:
    """Whether a revoked token is seen to be so, within reason."""
    for _ in range(LOOKS_MAX):
        if server.ask("GET", "/api/v1/openapi.json", token=token).status == 401:
            return True
        time.sleep(LOOK_AGAIN_S)
    return False


def test_without_the_extra_it_says_how_to_get_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.wiring.find_spec", lambda _: None)
    line = refused("web", str(MANIFEST), "--store", url)
    assert line == 'the web needs the extra: pip install "fencepost[web]"'


@pytest.mark.parametrize("bind", ["8580", "localhost", ":8580", "::1:8580", "h:99999", "h:x", "h:-1"])
def test_a_place_that_makes_no_sense_is_one_line(
    url: str, bind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", TOKEN)
    line = refused("web", str(MANIFEST), "--bind", bind, "--store", url)
    assert "expected HOST:PORT, such as 127.0.0.1:8580" in line


@pytest.mark.parametrize("verb", ["web", "run"])
def test_a_port_that_is_taken_is_one_line(verb: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        line = refused(verb, str(MANIFEST), "--bind", place, "--store", url)
    assert line == f"bind {place}: Address already in use; choose another with --bind"


def test_addresses_of_both_families_can_be_bound_and_only_loopback_is_quiet() -> None:
    for bind, quiet in [
        ("127.0.0.1:0", True),
        ("[::1]:0", True),
        ("localhost:0", True),
        ("0.0.0.0:0", False),
    ]:
        with bound(bind) as listener:
            assert is_loopback(listener) is quiet, bind


async def test_no_answer_waits_for_an_acknowledgement_of_its_first_half() -> None:
    """A socket that was not made for TCP by name gets no TCP_NODELAY, and each small answer takes 40 ms."""
    found = asyncio.Queue[int]()

    def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        found.put_nowait(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = bound("127.0.0.1:0")
    async with await asyncio.start_server(look, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        assert await found.get() == 1
        writer.close()


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_one_signal_stops_it_at_once_and_answers_waiting_calls(
    server: Server, tmp_path: Path, number: Signals
) -> None:
    with server.process(tmp_path) as process, ExitStack() as connections:
        # The jobs are read once before; whoever asks then waits before readiness, which reads the store.
        assert server.claim("w") == []
        waiting = [server.begin_claim(f"w{place}", PATIENT_S) for place in range(3)]
        for one in waiting:
            connections.callback(one.close)
        assert server.ask("GET", "/readyz", token=None).body == {"status": "ready"}
        process.signal(number)
        assert process.ended() == 0, process.said
        for one in waiting:
            answer = one.getresponse()
            assert (answer.status, answer.read()) == (200, b'{"claims":[]}')
    assert "Traceback" not in process.said
    assert TOKEN not in process.said


def test_answers_tell_nothing_of_the_server(server: Server, tmp_path: Path) -> None:
    with server.process(tmp_path):
        for path, token in [("/healthz", None), ("/", None), ("/", TOKEN), (CLAIMS, TOKEN)]:
            answer = server.ask("GET", path, token=token)
            assert set(answer.headers) <= {
                *("date", "content-type", "content-length", "connection", "cache-control"),
                *("www-authenticate", "allow", "content-security-policy", "x-content-type-options"),
                *("referrer-policy", "cross-origin-opener-policy", "cross-origin-resource-policy"),
            }
            assert b"uvicorn" not in answer.content.lower()


def test_run_serves_the_web_beside_its_work_and_leaves_external_jobs_alone(
    server: Server, tmp_path: Path
) -> None:
    with server.process(tmp_path, "run") as process:
        key = server.enqueue("1")
        (run,) = server.claim("w1", wait_s=20)
        assert run["run_key"] == key
        assert server.report(run, "complete", result=1).body == {"receipt": "accepted"}
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert "jobs=none" in process.said
    assert server.run(key)["worker"] == "http/w1@FENCEPOST_TOKEN"


def test_a_client_that_was_killed_holds_no_place(server: Server, tmp_path: Path) -> None:
    with server.process(tmp_path):
        server.begin_claim("w1", PATIENT_S).close()
        key = server.enqueue("1")
        begun = time.monotonic()
        (run,) = server.claim("w2", wait_s=PATIENT_S) or server.claim("w1")
        assert run["run_key"] == key
        assert time.monotonic() - begun < PATIENT_S


def test_what_was_acknowledged_survives_a_kill(server: Server, tmp_path: Path) -> None:
    with server.process(tmp_path) as process:
        key = server.enqueue("1")
        (run,) = server.claim("w1")
        process.signal(SIGKILL)
        process.ended()
    with server.process(tmp_path):
        assert server.claim("w1", known=[run["fence"]]) == []
        assert [one["fence"] for one in server.claim("w1")] == [run["fence"]]
        assert server.report(run, "heartbeat").status == 200
        assert server.report(run, "complete").body == {"receipt": "accepted"}
        assert server.report(run, "complete").body == {"receipt": "repeated"}
    assert server.run(key)["state"] == "succeeded"


def test_the_help_has_the_way_to_a_token() -> None:
    assert "openssl rand -hex 32" in called("web", "--help")
