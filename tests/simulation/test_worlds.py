"""Worlds: no promise is broken in any of them, they are what their seed says, and nothing in them is real."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.history.model import Fault
from tests.simulation import __main__ as command
from tests.simulation.ban import NotInThisWorld, nothing_real
from tests.simulation.campaign import Campaign, Repetition, run
from tests.simulation.examination import examine, nobody_there
from tests.simulation.world import simulate


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Worlds are talkative; only their verdict matters here."""
    logger = logging.getLogger("fencepost")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.mark.parametrize("seed", range(6))
def test_no_promise_is_broken_in_an_hour_of_trouble(seed: int) -> None:
    """About 6 s for each world of an hour."""
    found = examine(seed, 1.0)
    assert not found.violations
    assert found.ticks > 200
    assert found.seen["fault: crash"] + found.seen["fault: stall"] > 0


def test_only_when_every_machine_is_away_none_is_there() -> None:
    def at(minute: int) -> datetime:
        return datetime(2026, 1, 1, 0, minute, tzinfo=UTC)

    blackout, cut = Fault("blackout of workers", at(0), at(30)), Fault("cut", at(5), at(20), "node-0-3")
    assert nobody_there([blackout, cut]) == []
    assert nobody_there([cut, Fault("stall", at(5), at(20), "node-1-1")]) == []
    stall = Fault("stall", at(10), at(40), "node-1-7")
    assert nobody_there([blackout, cut, stall]) == [Fault("nobody there", at(10), at(20))]


@pytest.mark.proof
def test_default_terms_keep_the_promises_too() -> None:
    """At the pace of the default settings a world costs more, so this one is short."""
    found = examine(1, 0.2, paces=(1,))
    assert not found.violations
    assert found.ticks > 200


@pytest.mark.proof
def test_a_seed_is_the_same_world_in_a_process_that_hashes_otherwise() -> None:
    """Two worlds, and each again in another process."""
    *_, (_, campaign) = run(range(2), 0.1, processes=1)
    assert {one.seed for one in campaign.repeated} == {0, 1}
    assert campaign.unlike == []
    assert campaign.repeated[0].checkpoint != campaign.repeated[1].checkpoint


def test_a_world_that_differs_is_told_of() -> None:
    found = examine(1, 0.02)
    same = Repetition(1, found.checkpoint, None)
    assert Campaign([found], [same]).unlike == []
    assert Campaign([found], [replace(same, checkpoint="another")]).unlike == [1]
    assert Campaign([found], [replace(same, trace="another")]).unlike == [1]


@pytest.mark.proof
def test_a_campaign_that_saw_too_little_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seed", "3", "--seeds", "1", "--hours", "0.05", "--processes", "1"]) == 1
    assert "never gone through: fault:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "run_context",
    [time.time, time.monotonic, uuid.uuid4, random.random, threading.Thread(target=print).start],
)
def test_nothing_real_is_had_in_a_world(run_context: Callable[[], object]) -> None:
    name = run_context.__name__
    owner = {"time": time, "monotonic": time, "uuid4": uuid, "random": random}.get(name, threading.Thread())
    with nothing_real(), pytest.raises(NotInThisWorld, match=name):
        getattr(owner, name)()
    getattr(time, "time")()  # noqa: B009


@pytest.mark.proof
def test_a_replay_of_the_first_hour_comes_by_the_same_checkpoint() -> None:
    """About 8 s: a world of more than an hour, and its first hour again."""
    whole, begun = simulate(5, 1.2), simulate(5, 1.0, settles=False)
    assert whole.checkpoint == begun.checkpoint
    assert whole.trace != begun.trace
