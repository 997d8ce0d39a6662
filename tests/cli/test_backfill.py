"""`fencepost backfill` and `backfills`."""

import asyncio
from datetime import UTC, datetime

import pytest

from fencepost import Fencepost, PermanentFailure, Retry
from fencepost.cli import watching
from fencepost.operations import backfills as backfill_operations
from tests.cli.calls import call, called, called_json, refused

RANGE = ("--from", "2026-01-01T00:30:00Z", "--to", "2026-01-01T05:30:00Z")


def backfill(url: str, *options: str) -> tuple[str, ...]:
    return ("backfill", "report", *RANGE, *options, "--store", url)


def test_a_dry_run_says_what_would_run_and_starts_nothing(used: str) -> None:
    found = called_json(*backfill(used, "--dry-run", "--parallel", "4"))
    assert (found["fire_times"], found["recorded"], found["to_run"]) == (6, 0, 6)
    assert (found["states"], found["duration_s"], found["at_once_max"]) == ({"missing": 6}, None, 4)
    result = call(*backfill(used, "--dry-run", "--parallel", "4"))
    assert "takes       unknown: no run has succeeded yet" in result.stdout
    assert "the overlap policy lets 1 run at a time" in result.stderr
    assert called_json("backfills", "list", "--store", used) == []
    assert called_json("runs", "list", "--schedule", "report", "--origin", "backfill", "--store", used) == []


def test_detached_it_is_left_to_the_nodes_that_plan(used: str) -> None:
    result = call(*backfill(used, "--detach"))
    assert result.exit_code == 0, result.output
    assert "fencepost backfills cancel 1" in result.stdout
    (found,) = called_json("backfills", "list", "--store", used)
    assert (found["backfill_id"], found["state"], found["runs"], found["over"]) == (1, "active", {}, False)
    assert "2026-01-01 00:30:00 UTC" in called("backfills", "list", "--tz", "UTC", "--store", used)


def test_what_waits_of_a_backfill_is_cancelled(used: str) -> None:
    call(*backfill(used, "--detach"))
    found = called_json("backfills", "cancel", "1", "--reason", "the wrong week", "--store", used)
    assert (found["state"], found["over"]) == ("cancelled", True)
    assert called_json("backfills", "watch", "1", "--store", used)["state"] == "cancelled"
    (entry,) = called_json("log", "--action", "backfill.cancel", "--store", used)
    assert (entry["subject"], entry["reason"]) == ("1", "the wrong week")
    shown = called("backfills", "show", "1", "--store", used)
    assert "cancelled, over" in shown


async def work(url: str, *, fails: bool = False) -> None:
    """Nothing but a worker, until the first backfill is over."""
    app = Fencepost(url)

    @app.job("report", retry=Retry(1))
    async def report(region: str = "eu") -> None:
        if fails:
            raise PermanentFailure("no paper")

    async with app, app.running(plans=False):
        control = await app.control()
        async with asyncio.timeout(30):
            while not (await backfill_operations.get(control, 1)).over:  # noqa: ASYNC110 - the store has no event for it
                await asyncio.sleep(0.02)


@pytest.mark.parametrize(("fails", "code", "state"), [(False, 0, "succeeded"), (True, 1, "dead")])
def test_it_fills_and_waits_until_all_runs_have_ended(
    fails: bool, code: int, state: str, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_: object) -> None:
        asyncio.run(work(used, fails=fails))

    monkeypatch.setattr(watching, "_warn_of_nobody", meanwhile)
    result = call(*backfill(used))
    assert result.exit_code == code
    assert "to run      6" in result.stdout
    assert f"6 (6 {state})" in result.stdout
    assert "backfill 1: started" in result.stderr


def test_what_ran_is_not_run_again_unless_forced(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*_: object) -> None:
        asyncio.run(work(used))

    monkeypatch.setattr(watching, "_warn_of_nobody", meanwhile)
    over = called_json(*backfill(used))
    assert (over["state"], over["over"], over["runs"]) == ("filled", True, {"succeeded": 6})
    assert over["estimate"]["to_run"] == 6
    assert called_json(*backfill(used))["to_run"] == 0
    forced = called_json(*backfill(used, "--force", "--dry-run"))
    assert (forced["to_run"], forced["states"]) == (6, {"succeeded": 6})
    assert forced["duration_s"] is not None


async def forget(url: str) -> None:
    """Retention removes all that has ended."""
    async with Fencepost(url) as app:
        store = await app.open()
        assert await store.ledger.forget(0, 100)


def test_what_ran_and_was_forgotten_is_not_run_again_unless_forced(
    used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_: object) -> None:
        asyncio.run(work(used))

    monkeypatch.setattr(watching, "_warn_of_nobody", meanwhile)
    assert called_json(*backfill(used))["estimate"]["forgotten_before"] is None
    asyncio.run(forget(used))
    result = call(*backfill(used, "--missed"))
    assert "forgotten   6" in result.stdout
    assert "to run      0" in result.stdout
    assert "does not run; --force runs it all the same" in result.stderr
    found = called_json(*backfill(used, "--dry-run"))
    assert (found["states"], found["recorded"], found["to_run"]) == ({"forgotten": 6}, 0, 0)
    assert found["forgotten_before"] is not None
    assert called_json(*backfill(used, "--force", "--dry-run"))["to_run"] == 6
    forced = call(*backfill(used, "--force", "--detach", "--json"))
    assert "what is older runs, also where it ran before" in forced.stderr


def test_ctrl_c_leaves_it_running_and_says_how_to_stop_it(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "_warn_of_nobody", interrupted)
    result = call(*backfill(used))
    assert result.exit_code == 130
    assert "it goes on by itself; watch it with: fencepost backfills watch 1" in result.stderr
    (found,) = called_json("backfills", "list", "--store", used)
    assert (found["state"], found["runs"]) == ("filled", {"ready": 6})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("backfill", "reprt", *RANGE), "did you mean report?"),
        (("backfill", "report", "--from", "1d", "--to", "2999-01-01"), "lies in the future"),
        (("backfill", "report", "--from", "1d", "--to", "2d"), "an end that is later than the start"),
        (("backfill", "report", *RANGE, "--rate", "x"), "--rate: "),
        (("backfill", "report", *RANGE, "--parallel", "5000"), "5000 at once is not within"),
        (("backfills", "show", "7"), "backfill 7: not found"),
        (("backfills", "cancel", "7"), "backfill 7: not found"),
    ],
)
def test_a_wrong_backfill_is_refused(arguments: tuple[str, ...], said: str, used: str) -> None:
    assert said in refused(*arguments, "--store", used)


def test_an_application_asks_for_one_too(used: str) -> None:
    async def ask() -> int:
        async with Fencepost(used) as app:
            since, until = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (0, 5))
            return (await app.schedules.backfill("report", since, until)).backfill_id

    assert asyncio.run(ask()) == 1
