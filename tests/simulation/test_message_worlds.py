"""Worlds with a message broker: what it loses, repeats, reorders or delays changes nothing but latency."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

import pytest

from tests.bugs import brokers
from tests.bugs.bug import Bug
from tests.marks import in_proof
from tests.simulation.campaign import run
from tests.simulation.examination import examine
from tests.simulation.message_world import MessageWorld

SEEDS_MAX = 16
SEEN = (
    *("fault: deliverer killed before the confirm", "fault: deliverer killed before the ledger"),
    *("message lost", "confirm lost", "message repeated"),
)
in_a_world = partial(examine, make=MessageWorld)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Worlds are talkative; only their verdict matters here."""
    logger = logging.getLogger("fencepost")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [0, *in_proof(1, 2)])
def test_no_message_changes_anything_but_latency(seed: int) -> None:
    """About 10 s for each world of an hour."""
    found = in_a_world(seed, 1.0)
    assert not found.violations
    assert not [name for name in SEEN if not found.seen[name]]


@pytest.mark.proof
def test_a_seed_is_the_same_world_with_messages_too() -> None:
    *_, (_, campaign) = run(range(1), 0.1, processes=1, make=MessageWorld)
    assert campaign.unlike == []


@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "bug",
    [
        brokers.intake_acknowledges_before_the_ledger,
        brokers.unconfirmed_taken_for_confirmed,
        brokers.reply_taken_without_its_fence,
    ],
    ids=lambda one: one.name,
)
def test_a_world_notices_what_a_broker_can_do_to_a_bug(bug: Bug) -> None:
    """Worlds of an hour, until one shows it: of some bugs one in four does."""
    with bug.plant():
        assert any(
            what.startswith("I11:") for seed in range(SEEDS_MAX) for what in in_a_world(seed, 1.0).violations
        )
