"""The two tables of moves, the checkers' and the code's, say the same."""

from __future__ import annotations

from itertools import product

from fencepost.core import lifecycle
from fencepost.model.run import RunState
from tests.history import moves


def test_the_moves_are_the_same() -> None:
    assert moves.MOVES ^ set(lifecycle.TRANSITIONS) == set()
    assert moves.REPLAYS ^ set(lifecycle.REPLAYS) == set()


def test_runs_begin_and_end_in_the_same_states() -> None:
    assert set() == moves.INITIAL ^ lifecycle.INITIAL
    assert set() == moves.ENDED ^ lifecycle.ENDED


def test_the_same_steps_may_be_left_out() -> None:
    pairs = list(product(RunState, RunState))
    assert [one for one in pairs if moves.may_move(*one) != lifecycle.may_move(*one)] == []
