"""`fencepost demo`."""

import asyncio
import re
from pathlib import Path

import apsw

from fencepost.config import Settings
from fencepost.demo import Accounting, account
from fencepost.wiring import open_store
from tests.cli.calls import called_json
from tests.cli.processes import SIGINT, SIGKILL, Process, started

COUNTS = re.compile(
    r"accounting: (\d+) ticks expected, (\d+) succeeded, (\d+) skipped, (\d+) missed, (\d+) dead, "
    r"(\d+) waiting; lost (\d+), doubled (\d+)"
)


def counts(process: Process) -> list[int]:
    found = COUNTS.fullmatch(process.lines[-1])
    assert found is not None, process.said
    return [int(one) for one in found.groups()]


def test_it_stops_by_itself_and_accounts_for_every_tick(url: str, tmp_path: Path) -> None:
    with started("demo", "--for", "6s", "--store", url, folder=tmp_path) as process:
        assert process.ended() == 0, process.said
    expected, *ended, waiting, lost, doubled = counts(process)
    assert expected >= 10
    assert (sum(ended) + waiting, lost, doubled) == (expected, 0, 0)
    assert "\x1b[" not in process.said
    assert f"fencepost runs list --store {url}" in process.said
    assert f"kill -9 {process.pid}" in process.said


def test_it_shows_what_is_spread_and_what_the_clocks_will_do(url: str, tmp_path: Path) -> None:
    with started("demo", "--for", "1s", "--store", url, folder=tmp_path) as process:
        assert process.ended() == 0, process.said
    (nightly,) = (line for line in process.lines if line.startswith("nightly "))
    assert nightly.split("  ")[-1] == "10m"
    (change,) = (line for line in process.lines if line.startswith("nightly: "))
    assert "the clocks in Berlin" in change


def test_without_a_store_it_makes_one_and_ctrl_c_is_clean(tmp_path: Path) -> None:
    with started("demo", folder=tmp_path, TMPDIR=str(tmp_path)) as process:
        process.wait_for("heartbeat#")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    (folder,) = tmp_path.glob("fencepost-demo-*")
    assert (folder / "demo.db").exists()
    assert counts(process)[-2:] == [0, 0]


def test_a_killed_demo_goes_on_where_it_was(url: str, tmp_path: Path) -> None:
    with started("demo", "--store", url, folder=tmp_path) as process:
        process.wait_for("slow#")
        process.signal(SIGKILL)
        assert process.ended() == -SIGKILL
    with started("demo", "--store", url, folder=tmp_path) as process:
        process.wait_for("flaky#")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    expected, *ended, waiting, lost, doubled = counts(process)
    assert (sum(ended) + waiting, lost, doubled) == (expected, 0, 0)
    assert {one["version"] for one in called_json("schedules", "list", "--store", url)} == {1}


def test_a_tick_that_has_gone_from_the_ledger_is_called_lost(url: str, tmp_path: Path) -> None:
    with started("demo", "--for", "2s", "--store", url, folder=tmp_path) as process:
        assert process.ended() == 0, process.said
    runs = called_json("runs", "list", "--schedule", "heartbeat", "--state", "succeeded", "--store", url)
    forget(tmp_path / "store.db", runs[0]["run_key"])
    assert asyncio.run(accounted(url)).lost == 1


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
