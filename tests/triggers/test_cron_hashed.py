"""`H` spreads schedules over their hours and days by their ids, and keeps each where it is."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron
from fencepost.triggers.series import Binding

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta.resolution
EACH = 20

# Fire times that are in somebody's ledger: the hash may never change.
KEPT = [
    ("H H * * *", "invoices", "2026-01-01T05:01:00"),
    ("H H H H *", "invoices", "2026-12-25T05:01:00"),
    ("H/15 * * * *", "invoices", "2026-01-01T00:01:00"),
    ("H(10-19)/3 4 * * *", "invoices", "2026-01-01T04:11:00"),
    ("0 0 H/10 * *", "invoices", "2026-01-05T00:00:00"),
    ("H H * * H", "reports", "2026-01-06T02:00:00"),
    ("H * * * * *", "reports", "2026-01-01T00:00:19"),
    ("H H(0-7) * * *", "", "2026-01-01T05:19:00"),
]


@pytest.mark.parametrize(("expression", "seed", "first"), KEPT)
def test_a_schedule_never_moves(expression: str, seed: str, first: str) -> None:
    found = Cron(expression, seed=seed).next_after(NOW)
    assert found == datetime.fromisoformat(first).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "field", "values"),
    [
        ("H * * * * *", "second", range(60)),
        ("H * * * *", "minute", range(60)),
        ("H(20-29) * * * *", "minute", range(20, 30)),
        ("H/15 * * * *", "minute", range(15)),
        ("H(30-59)/10 * * * *", "minute", range(30, 40)),
        ("0 H * * *", "hour", range(24)),
        ("0 0 H * *", "day", range(1, 29)),
        ("0 0 H(20-31) 1 *", "day", range(20, 32)),
        ("0 0 1 H *", "month", range(1, 13)),
    ],
)
def test_schedules_spread_over_all_values_and_no_others(expression: str, field: str, values: range) -> None:
    crons = (Cron(expression, seed=f"schedule-{number}") for number in range(EACH * len(values)))
    found = Counter(getattr(cron.next_after(NOW - TICK), field) for cron in crons)
    assert sorted(found) == list(values)
    assert max(found.values()) < 3 * EACH


def test_the_fields_of_one_schedule_are_hashed_apart() -> None:
    found = [Cron("H H H * *", seed=str(number)).next_after(NOW) for number in range(400)]
    assert len({(one.day, one.hour, one.minute) for one in found if one}) > 390
    assert len({(one.hour, one.minute) for one in found if one}) > 300


def test_without_an_identity_it_is_no_series() -> None:
    cron = Cron("H * * * *")
    for ask in (cron.next_after, cron.previous, cron.__contains__):
        with pytest.raises(InvalidTrigger, match="H is hashed by a schedule's id"):
            ask(NOW)


def test_a_schedule_gives_its_id_and_does_not_take_a_seed_away() -> None:
    binding = Binding("invoices")
    assert Cron("H H * * *").bound(binding) == Cron("H H * * *", seed="invoices")
    assert Cron("H H * * *", seed="reports").bound(binding) == Cron("H H * * *", seed="reports")
    assert Cron("0 0 * * *").bound(binding) == Cron("0 0 * * *")
