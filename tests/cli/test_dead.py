"""`fencepost dead`."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost import Fencepost, PermanentFailure, Retry
from fencepost.cli import calling, dead
from fencepost.model.run import RunState
from fencepost.operations import dead as dead_operations
from fencepost.operations import runs as run_operations
from fencepost.operations.control import Control
from fencepost.operations.status import StatusRequest, show_status
from fencepost.ports.store import Store
from tests.cli.calls import call, called, called_json, refused


def test_dead_runs_are_listed_and_filtered(used: str) -> None:
    def keys(*options: str) -> list[str]:
        return [one["run_key"] for one in called_json("dead", "list", "--store", used, *options)]

    assert (
        keys() == keys("--job", "burn") == keys("--error", "no fuel") == keys("--since", "1h") == ["burn#bad"]
    )
    assert keys("--job", "double") == keys("--error", "rain") == keys("--schedule", "report") == []
    assert "burn#bad" in called("dead", "list", "--store", used)
    assert keys("--filter", "job=burn", "--filter", "error=no fuel") == ["burn#bad"]
    assert keys("--filter", "job=double") == []
    assert "expected name=value" in refused("dead", "list", "--filter", "job", "--store", used)
    assert "did you mean job?" in refused("dead", "list", "--filter", "jobs=burn", "--store", used)


def test_a_dead_run_is_shown_with_every_attempt(used: str) -> None:
    shown = called("dead", "show", "burn#bad", "--store", used)
    assert "attempt 1 (fence " in shown
    assert "Traceback" in shown
    assert "no fuel" in shown
    (attempt,) = called_json("dead", "show", "burn#bad", "--store", used)["attempts"]
    assert attempt["worker"]
    assert "is succeeded, not dead" in refused("dead", "show", "double#ok", "--store", used)


@pytest.mark.parametrize(
    "which", [("burn#bad",), ("--all",), ("--job", "burn"), ("--error", "fuel", "--rate", "10/m")]
)
def test_a_replay_keeps_the_history_and_leaves_an_entry(which: tuple[str, ...], used: str) -> None:
    assert called("dead", "replay", *which, "--reason", "refuelled", "--store", used) == "1 replayed\n"
    run = called_json("runs", "show", "burn#bad", "--store", used)
    assert (run["state"], run["origin"], len(run["attempts"])) == ("ready", "replay", 1)
    (entry,) = called_json("log", "--action", "run.replay", "--store", used)
    assert (entry["subject"], entry["reason"]) == ("burn#bad", "refuelled")
    assert 'state: "dead" -> "ready"' in entry["changes"]
    assert called_json("dead", "list", "--store", used) == []


def test_a_dry_run_replays_nothing(used: str) -> None:
    result = call("dead", "replay", "--all", "--dry-run", "--store", used)
    assert (result.exit_code, result.stdout) == (0, "burn#bad\n")
    assert result.stderr == "1 would be replayed\n"
    found = called_json("dead", "replay", "--all", "--dry-run", "--store", used)
    assert found == {"would_replay": ["burn#bad"], "duration_s": 0}
    assert len(called_json("dead", "list", "--store", used)) == 1


def test_a_filter_that_finds_nothing_is_fine(used: str) -> None:
    assert called_json("dead", "replay", "--job", "double", "--store", used) == {"replayed": [], "left": []}


def test_a_run_that_is_not_dead_is_not_replayed_as_one(used: str) -> None:
    assert "is succeeded, not dead" in refused("dead", "replay", "burn#bad", "double#ok", "--store", used)
    assert len(called_json("dead", "list", "--store", used)) == 1


async def in_store(url: str, act: Callable[[Store], Awaitable[object]]) -> None:
    async with Fencepost(url) as app:
        await act(await app.open())


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[Control], Awaitable[object]]) -> None:
    """Somebody acts when the runs have been chosen and are not replayed yet."""
    replaying = run_operations.replaying

    async def slowly(control: Control, *given: Any, **rest: Any) -> Any:
        monkeypatch.setattr(dead_operations, "replaying", replaying)
        await act(control)
        async for batch in replaying(control, *given, **rest):
            yield batch

    monkeypatch.setattr(dead_operations, "replaying", slowly)


@pytest.mark.parametrize(("which", "code"), [(("burn#bad",), 1), (("--all",), 0)])
def test_a_run_that_is_not_dead_any_more_is_left_alone(
    which: tuple[str, ...], code: int, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was replayed and cancelled meanwhile: that can be replayed too, and is not what was asked for."""

    async def act(control: Control) -> None:
        await run_operations.replay(control, ["burn#bad"])
        await run_operations.cancel(control, "burn#bad")

    meanwhile(monkeypatch, act)
    result = call("dead", "replay", *which, "--store", used)
    assert (result.exit_code, result.stdout) == (code, "0 replayed, 1 left as they were\n")
    assert result.stderr == "burn#bad: is not dead any more\n"
    run = called_json("runs", "show", "burn#bad", "--store", used)
    assert run["state"] == RunState.CANCELLED
    assert called_json("runs", "replay", "burn#bad", "--store", used)["replayed"] == ["burn#bad"]


def test_a_run_whose_payload_is_gone_is_said_to_be_dead_still(used: str) -> None:
    asyncio.run(in_store(used, lambda store: store.ledger.forget(0, 100)))
    result = call("dead", "replay", "--all", "--store", used)
    assert result.stdout == "0 replayed, 1 left as they were\n"
    assert result.stderr == "burn#bad: retention has removed its payload\n"


async def dead_runs(control: Control) -> int:
    return (await show_status.carry_out(control, StatusRequest())).attention.dead


async def burn_many(url: str, count: int) -> None:
    app = Fencepost(url)

    @app.job(retry=Retry(1))
    async def burn() -> None:
        raise PermanentFailure("no fuel")

    async with app, app.running():
        for number in range(count):
            await app.enqueue(burn, key=f"{number}")
        control = await app.control()
        async with asyncio.timeout(20):
            while (await dead_runs(control)) < count:  # noqa: ASYNC110 - the store has no event for it
                await asyncio.sleep(0.02)


def test_all_of_very_many_are_replayed_the_oldest_first(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "LIMIT_MAX", 3)
    asyncio.run(burn_many(url, 8))
    oldest_first = [f"burn#{number}" for number in range(8)]
    planned = called_json("dead", "replay", "--all", "--dry-run", "--store", url)
    assert planned["would_replay"] == oldest_first
    assert called_json("dead", "replay", "--all", "--store", url)["replayed"] == oldest_first
    assert called_json("dead", "list", "--store", url) == []


def test_a_rate_holds_from_one_batch_to_the_next(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead, "BATCH", 2)
    asyncio.run(burn_many(url, 3))
    called("dead", "replay", "--all", "--rate", "1/h", "--store", url)
    due = {one["run_key"]: one["run_at"] for one in called_json("runs", "list", "--store", url)}
    first, second, third = (datetime.fromisoformat(due[f"burn#{number}"]) for number in range(3))
    assert timedelta(minutes=59) < second - first < timedelta(minutes=61)
    assert timedelta(minutes=59) < third - second < timedelta(minutes=61)


def test_of_very_many_that_are_left_the_first_are_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead, "LEFT_TOLD_MAX", 1)
    asyncio.run(burn_many(url, 3))
    asyncio.run(in_store(url, lambda store: store.ledger.forget(0, 100)))
    result = call("dead", "replay", "--all", "--store", url)
    assert result.stderr.splitlines() == ["burn#0: retention has removed its payload", "and 2 more"]
