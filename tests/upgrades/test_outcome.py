"""What the drill of an upgrade lets pass."""

from typing import Any

import pytest

from tests.upgrades.drill import Outcome

SOUND: dict[str, Any] = {
    "schema_before": 17,
    "schema_after": 22,
    "audit": {"faults": 0, "expected": 40},
    "states": {"succeeded": 40},
    "doubled": [],
    "without_effect": [],
}


def test_a_whole_ledger_is_sound() -> None:
    assert Outcome(**SOUND).is_sound


@pytest.mark.parametrize(
    "found",
    [
        {"audit": {"faults": 1, "expected": 40}},
        {"audit": {"faults": 0, "expected": 0}},
        {"states": {"succeeded": 39, "missed": 1}},
        {"doubled": ["tick-1#2026-03-01T00:00:00Z#1"]},
        {"without_effect": ["tick-1#2026-03-01T00:00:00Z#1"]},
    ],
    ids=["fault", "nothing-expected", "missed", "doubled", "without-effect"],
)
def test_a_tick_that_is_missing_doubled_or_without_effect_is_not_sound(found: dict[str, Any]) -> None:
    assert not Outcome(**{**SOUND, **found}).is_sound
