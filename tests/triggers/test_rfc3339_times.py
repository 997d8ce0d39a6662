"""Instants as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.model.times import from_epoch_s, from_utc_text, parse_time, to_epoch_s, to_utc_text
from fencepost.triggers import zone, zone_names

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

WRITTEN = [
    (NOW, "2026-03-29T01:30:00Z"),
    (NOW + timedelta(microseconds=1), "2026-03-29T01:30:00.000001Z"),
    (NOW + timedelta(milliseconds=500), "2026-03-29T01:30:00.500000Z"),
    (NOW.astimezone(timezone(timedelta(hours=2))), "2026-03-29T01:30:00Z"),
]


@pytest.mark.parametrize(("moment", "text"), WRITTEN)
def test_text_is_utc_with_six_digits_or_none(moment: datetime, text: str) -> None:
    assert to_utc_text(moment) == text
    assert from_utc_text(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-29T01:30:00Z",
        "2026-03-29t01:30:00z",
        "2026-03-29 01:30Z",
        "2026-03-29T03:30:00+02:00",
        "2026-03-29T01:30:00.0Z",
    ],
)
def test_every_spelling_of_an_instant_is_read(text: str) -> None:
    assert parse_time(text) == NOW


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-W13-7",
        "20260329T013000Z",
        "2026-03-29T01",
        "2026-03-29T01:30.5Z",
        "2026-03-29T01:30:60Z",
        "2026-03-29T25:00:00Z",
        "2026-03-29T01:30:00.1234567Z",
        "2026-03-29T01:30:00+25:00",
        "2026-03-29T01:30:00Z\n",
        "٢٠٢٦-03-29T01:30:00Z",
        "0000-01-01T00:00:00Z",
    ],
)
def test_what_is_not_rfc_3339_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        parse_time(text)
    assert str(refusal.value).startswith('time "')
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("text", ["2026-03-29T03:30:00+02:00", "2026-03-29T01:30:00"])
def test_a_stored_time_without_its_z_is_refused(text: str) -> None:
    with pytest.raises(InvalidTrigger, match="in UTC with a Z"):
        from_utc_text(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_text_and_seconds_lead_back(moment: datetime) -> None:
    assert from_utc_text(to_utc_text(moment)) == moment
    assert from_epoch_s(to_epoch_s(moment)) == moment.replace(microsecond=0)


@given(
    st.integers(-(10**9), 10**9).map(lambda n: (NOW + timedelta(seconds=n)).replace(tzinfo=None)),
    st.sampled_from(sorted(zone_names())),
)
def test_a_local_time_is_the_first_instant_at_or_after_it_on_the_wall(local: datetime, name: str) -> None:
    instant = parse_time(local.isoformat(), zone(name))
    shown = instant.astimezone(zone(name)).replace(tzinfo=None)
    assert shown == local or (shown > local and shown.microsecond == 0)
    earlier = (instant - timedelta(microseconds=1)).astimezone(zone(name)).replace(tzinfo=None)
    assert earlier < local
