"""Whatever single thing of a good history is spoiled, somebody notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from fencepost.model.identifiers import Fence
from fencepost.model.run import Hold, Receipt, RunRecord, RunState
from tests.history.eventful import eventful
from tests.history.findings import by_row, rescues
from tests.history.model import Change, History
from tests.history.moves import ENDED
from tests.history.verdict import judge

SEEDS = range(25)


def lose_a_row(dice: Random, history: History) -> None:
    """All of a row that some version expects, or that succeeded."""
    rows = by_row(history)
    lost = [row for row, changes in rows.items() if any(_succeeds(one) for one in changes)]
    gone = rows[dice.choice(lost)]
    history.changes[:] = [one for one in history.changes if one not in gone]


def lose_a_change(dice: Random, history: History) -> None:
    """Any but the last of its row."""
    lost = dice.choice([one for changes in by_row(history).values() for one in changes[:-1]])
    history.changes.remove(lost)


def double_a_row(dice: Random, history: History) -> None:
    history.changes.append(dice.choice([one for one in history.changes if one.before is None]))


def swap_two_changes(dice: Random, history: History) -> None:
    """Two of one row, next to each other."""
    long = [changes for changes in by_row(history).values() if len(changes) > 1]
    changes = dice.choice(long)
    number = dice.randrange(len(changes) - 1)
    one, other = (history.changes.index(changes[number + more]) for more in (0, 1))
    history.changes[one], history.changes[other] = history.changes[other], history.changes[one]


def swap_two_fences(dice: Random, history: History) -> None:
    """Of two attempts of one schedule."""
    starts = [
        number for number, one in enumerate(history.changes) if one.starts and one.run.schedule_id is not None
    ]
    pairs = [
        (one, other)
        for one in starts
        for other in starts
        if one < other and history.changes[one].run.schedule_id == history.changes[other].run.schedule_id
    ]
    one, other = dice.choice(pairs)
    fences = [history.changes[number].run.fence for number in (one, other)]
    for number, fence in zip((one, other), reversed(fences), strict=True):
        _give_fence(history, number, fence)


def move_what_has_ended(dice: Random, history: History) -> None:
    ended = [one.after for one in history.changes if one.after is not None and one.after.state in ENDED]
    run = dice.choice(ended)
    state = dice.choice([one for one in RunState if one is not run.state])
    history.changes.append(Change(history.ended_at, run, replace(run, state=state)))


def change_one_value(dice: Random, history: History) -> None:
    """Of a row, unseen by its next change."""
    number = history.changes.index(
        dice.choice([one for changes in by_row(history).values() for one in changes[:-1]])
    )
    run = history.changes[number].after
    assert run is not None
    values: list[dict[str, Any]] = [
        {"attempt": run.attempt + 1},
        {"fence": run.fence + 1},
        {"held": run.held ^ Hold.OPERATOR},
        {"reason": "?"},
    ]
    chosen: dict[str, Any] = dice.choice(values)
    history.changes[number] = history.changes[number]._replace(after=replace(run, **chosen))


def stay_with_the_dead(dice: Random, history: History) -> None:
    """A rescue does not come."""
    lost = dice.choice([one for one in history.changes if rescues(one)])
    later = [one for one in history.changes if one.run.run_key == lost.run.run_key and one.at >= lost.at]
    history.changes[:] = [one for one in history.changes if one not in later]


def accept_or_refuse(dice: Random, history: History) -> None:
    """The ledger answers a report the other way."""
    number = dice.randrange(len(history.reports))
    accepted = history.reports[number].receipt is Receipt.ACCEPTED
    receipt = Receipt.REFUSED if accepted else Receipt.ACCEPTED
    history.reports[number] = history.reports[number]._replace(receipt=receipt)


def forge_an_effect(dice: Random, history: History) -> None:
    number = dice.randrange(len(history.effects))
    one = history.effects[number]
    forged = (
        one._replace(attempt=one.attempt + 1),
        one._replace(fence=one.fence + 100),
        one._replace(key=f"{one.key}0"),
    )
    history.effects[number] = dice.choice(forged)


SPOILINGS: list[Callable[[Random, History], None]] = [
    lose_a_row,
    lose_a_change,
    double_a_row,
    swap_two_changes,
    swap_two_fences,
    move_what_has_ended,
    change_one_value,
    stay_with_the_dead,
    accept_or_refuse,
    forge_an_effect,
]


@pytest.mark.parametrize("spoil", SPOILINGS, ids=lambda one: one.__name__)
def test_a_single_spoiling_is_found(spoil: Callable[[Random, History], None]) -> None:
    for seed in SEEDS:
        history = eventful()
        spoil(Random(seed), history)
        assert judge(history).violations, f"seed {seed}"


def _succeeds(change: Change) -> bool:
    return change.after is not None and change.after.state is RunState.SUCCEEDED


def _give_fence(history: History, number: int, fence: Fence) -> None:
    """To an attempt, from its start to its end, wherever it stands."""
    old = history.changes[number].run
    for place, one in enumerate(history.changes):
        before, after = (
            replace(run, fence=fence) if run is not None and _is_of(run, old) else run
            for run in (one.before, one.after)
        )
        history.changes[place] = one._replace(before=before, after=after)
    history.pulses[:] = [
        one._replace(fence=fence) if (one.key, one.fence) == (old.run_key, old.fence) else one
        for one in history.pulses
    ]
    history.reports[:] = [one for one in history.reports if one.ticket.run_key != old.run_key]
    history.effects[:] = [
        one._replace(fence=fence) if (one.key, one.fence) == (old.run_key, old.fence) else one
        for one in history.effects
    ]


def _is_of(run: RunRecord, attempt: RunRecord) -> bool:
    return (run.run_key, run.attempt, run.fence) == (attempt.run_key, attempt.attempt, attempt.fence)
