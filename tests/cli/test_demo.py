"""`fencepost demo`."""

import asyncio
import http.client
import re
import socket
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import apsw
import pytest

from fencepost.config import Settings
from fencepost.demo import Accounting, account
from fencepost.wiring import open_store
from tests.cli.calls import called_json
from tests.cli.processes import PATIENCE_S, SIGINT, SIGKILL, Process, started

COUNTS = re.compile(
    r"accounting: (\d+) ticks expected, (\d+) succeeded, (\d+) skipped, (\d+) missed, (\d+) dead, "
    r"(\d+) waiting; lost (\d+), doubled (\d+)"
)


def counts(process: Process) -> list[int]:
    found = COUNTS.fullmatch(process.lines[-1])
    assert found is not None, process.said
    return [int(one) for one in found.groups()]


def test_it_stops_by_itself_and_accounts_for_every_tick(url: str, tmp_path: Path) -> None:
    """About 8 s: the demo runs for six of them."""
    with started("demo", "--empty", "--for", "6s", "--store", url, folder=tmp_path) as process:
        assert process.ended() == 0, process.said
    expected, *ended, waiting, lost, doubled = counts(process)
    assert expected >= 10
    assert (sum(ended) + waiting, lost, doubled) == (expected, 0, 0)
    assert "\x1b[" not in process.said
    assert f"fencepost runs list --store {url}" in process.said
    assert f"kill -9 {process.pid}" in process.said


def test_it_shows_what_is_spread_and_what_the_clocks_will_do(url: str, tmp_path: Path) -> None:
    with started("demo", "--empty", "--for", "1s", "--store", url, folder=tmp_path) as process:
        assert process.ended() == 0, process.said
    (nightly,) = (line for line in process.lines if line.startswith("nightly "))
    assert nightly.split("  ")[-1] == "10m"
    (change,) = (line for line in process.lines if line.startswith("nightly: "))
    assert "the clocks in Berlin" in change


def test_without_a_store_it_makes_one_and_ctrl_c_is_clean(tmp_path: Path) -> None:
    """A demo as a process, until it serves."""
    with started("demo", "--empty", folder=tmp_path, TMPDIR=str(tmp_path)) as process:
        process.wait_for("heartbeat#")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    (folder,) = tmp_path.glob("fencepost-demo-*")
    assert (folder / "demo.db").exists()
    assert counts(process)[-2:] == [0, 0]


def test_a_killed_demo_goes_on_where_it_was(url: str, tmp_path: Path) -> None:
    """Two demos as processes, until they serve."""
    with started("demo", "--empty", "--store", url, folder=tmp_path) as process:
        process.wait_for("slow#")
        process.signal(SIGKILL)
        assert process.ended() == -SIGKILL
    versions = schedule_versions(url)
    with started("demo", "--empty", "--store", url, folder=tmp_path) as process:
        process.wait_for("flaky#")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    expected, *ended, waiting, lost, doubled = counts(process)
    assert (sum(ended) + waiting, lost, doubled) == (expected, 0, 0)
    assert schedule_versions(url) == versions
    assert set(versions.values()) == {1}


def test_a_tick_that_has_gone_from_the_ledger_is_called_lost(url: str, tmp_path: Path) -> None:
    with started("demo", "--empty", "--store", url, folder=tmp_path) as process:
        while "heartbeat#" not in process.wait_for(" succeeded "):
            continue
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    runs = called_json("runs", "list", "--schedule", "heartbeat", "--state", "succeeded", "--store", url)
    forget(tmp_path / "store.db", runs[0]["run_key"])
    assert asyncio.run(accounted(url)).lost == 1


def test_it_prints_a_link_that_signs_one_browser_in_and_a_stream_does_not_hold_it_up(
    url: str, tmp_path: Path
) -> None:
    """About 6 s: a demo with three days behind it."""
    with started("demo", "--store", url, folder=tmp_path) as process:
        link = process.wait_for("sign in, once").split()[-1]
        base, _, secret = link.partition("/sign-in?link=")
        process.wait_for("heartbeat#")
        port = urlsplit(base).port
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        cookie = signed_in(line, base, secret)
        assert cookie.startswith("__Host-fencepost=")
        with pytest.raises(AssertionError, match="not signed in"):
            signed_in(line, base, secret)
        line.request("GET", "/api/v1/events", headers={"Cookie": cookie})
        stream = line.getresponse()
        assert stream.status == 200
        assert stream.readline().startswith(b"retry:")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    line.close()
    assert secret not in "".join(one for one in process.lines if "sign in, once" not in one)
    assert counts(process)[-2:] == [0, 0]


def test_a_port_that_was_asked_for_and_is_taken_is_one_line(url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        with started("demo", "--store", url, "--bind", bind, folder=tmp_path) as process:
            assert process.ended() == 2
    assert len(process.lines) == 1
    assert bind in process.said


def signed_in(line: http.client.HTTPConnection, base: str, secret: str) -> str:
    """The cookie of whoever pressed the button behind the link."""
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": base}
    line.request("POST", "/sign-in", urlencode({"link": secret}), kind)
    answer = line.getresponse()
    answer.read()
    assert answer.status == 303, f"not signed in: {answer.status}"
    return answer.headers["Set-Cookie"].partition(";")[0]


def schedule_versions(url: str) -> dict[str, int]:
    return {one["schedule_id"]: one["version"] for one in called_json("schedules", "list", "--store", url)}


def forget(path: Path, run_key: str) -> None:
    """What no part of the house does: take a tick out of the ledger."""
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM runs WHERE run_key = ?", (run_key,))
    connection.close()


async def accounted(url: str) -> Accounting:
    settings = Settings(store=url)
    store = await open_store(settings)
    try:
        return await account(store, settings.namespace, await store.now())
    finally:
        await store.close()
