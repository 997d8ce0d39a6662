"""The order of a nemesis's actions is the seed's, and every kind of action comes as often as it should."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.chaos import programme
from tests.chaos.grounds import Ground
from tests.chaos.lease_places import own
from tests.chaos.ledgers import Ledger
from tests.chaos.nemesis import ACTIONS, KILL, RESET, STORE_FAULTS, Nemesis
from tests.chaos.recording import SqliteSource
from tests.chaos.stage import Plan, Stage

DECK = {KILL: 3, RESET: 2}


class NoLedger:
    """A ledger that nobody asks."""

    url = "sqlite:///nowhere.db"

    query = is_locked = close = None


def nemesis(folder: Path, seed: int) -> Nemesis:
    ledger: Ledger = NoLedger()  # type: ignore[assignment]
    ground = Ground("none", ledger, SqliteSource(folder), own("none"))
    return Nemesis(Stage(ground, Plan(), folder), DECK, seed)


def test_one_seed_is_one_order(tmp_path: Path) -> None:
    first, again, other = (nemesis(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    drawn = [[one.draw() for _ in range(50)] for one in (first, again, other)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_a_deck_is_played_to_its_end_before_it_is_shuffled_again(tmp_path: Path) -> None:
    one = nemesis(tmp_path / "fleet", 7)
    for _ in range(5):
        assert Counter(one.draw() for _ in range(5)) == DECK


def test_no_deck_has_a_card_that_cannot_be_played() -> None:
    for deck in (programme.ON_PAIR, programme.ON_LEASES, programme.ON_FILE, programme.SHORT):
        assert deck.keys() <= ACTIONS.keys() | STORE_FAULTS
