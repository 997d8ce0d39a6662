"""What a cron expression may say: the same thing in several ways, and what a trigger is beside its times."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from fencepost.triggers import Cron

NOW = datetime(2026, 1, 1, tzinfo=UTC)

SAME = [
    ("*/15 * * * *", "0,15,30,45 * * * *"),
    ("0/15 * * * *", "*/15 * * * *"),
    ("10-40/10 * * * *", "10,20,30,40 * * * *"),
    ("7/10 * * * *", "7,17,27,37,47,57 * * * *"),
    ("*/60 * * * *", "0 * * * *"),
    ("5-5 * * * *", "5 * * * *"),
    ("5-5/7 * * * *", "5 * * * *"),
    ("05 007 * * *", "5 7 * * *"),
    ("1,1,*/30,30 * * * *", "0,1,30 * * * *"),
    ("0 0 1 jan,Jul *", "0 0 1 1,7 *"),
    ("0 0 1 OCT/1 *", "0 0 1 10,11,12 *"),
    ("0 0 * * mon-FRI", "0 0 * * 1-5"),
    ("0 0 * * 7", "0 0 * * 0"),
    ("0 0 * * SUN", "0 0 * * 0"),
    ("0 0 * * FRI-SUN", "0 0 * * 5,6,0"),
    ("0 0 * * 5-7", "0 0 * * 5,6,0"),
    ("0 0 * * 1/2", "0 0 * * 1,3,5,7"),
    ("0 0 * * 0-7", "0 0 * * *"),
    ("0 0 ? * MON", "0 0 * * 1"),
    ("0 0 1 * ?", "0 0 1 * *"),
    ("0 0 ? * ?", "0 0 * * *"),
    ("0 0 l * *", "0 0 L * *"),
    ("0 0 lw,15w * *", "0 0 15W,LW * *"),
    ("0 0 * * 5L", "0 0 * * FRIL"),
    ("0 0 * * fri#l", "0 0 * * FRIL"),
    ("0 0 * * 7#2", "0 0 * * SUN#2"),
    ("0 0 * * 0L", "0 0 * * 7#L"),
    ("0 0 L-30 * *", "0 0 1 1,3,5,7,8,10,12 *"),
    ("0 0 1-7 * +MON", "0 0 * * MON#1"),
    ("0 0 */2 * FRI", "0 0 */2 * +FRI"),
    ("0 0 13 * +*", "0 0 13 * *"),
    ("0 0 * * +FRI", "0 0 * * FRI"),
    ("0 12 * * *", "0 0 12 * * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@Hourly", "0 * * * *"),
    ("@every 1h", "0 * * * *"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_ways_to_say_the_same(one: str, other: str) -> None:
    assert Cron(one).next(NOW, 60) == Cron(other).next(NOW, 60)


def test_equal_by_value_whatever_the_spacing() -> None:
    cron = Cron("0  0 * *\t*", tz="Europe/Berlin")
    assert cron == Cron("0 0 * * *", "Europe/Berlin")
    assert hash(cron) == hash(Cron("0 0 * * *", "Europe/Berlin"))
    assert cron != Cron("0 0 * * *")
    assert cron != Cron("0 0 * * *", "Europe/Berlin", gap="skip")
    assert cron != Cron("0 0 * * *", "Europe/Berlin", seed="invoices")


def test_repr_can_be_read_back() -> None:
    cron = Cron("H 0 * * *", "Europe/Berlin", fold="last", seed="invoices")
    assert eval(repr(cron)) == cron


def test_a_pickled_cron_fires_as_before() -> None:
    cron = Cron("H 0 * * *", "Europe/Berlin", gap="skip", seed="invoices")
    copy = pickle.loads(pickle.dumps(cron))
    assert copy == cron
    assert copy.next_after(NOW) == cron.next_after(NOW)
