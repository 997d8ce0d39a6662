"""Zones come from the package's own data, and that data is as the engine supposes."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.model.times import offset_s, to_epoch_s
from fencepost.triggers import tzdata_version, zone, zone_names
from fencepost.triggers.localtime import offsets
from fencepost.triggers.localtime.offsets import CHUNK_S, DAY_S, Segment, segment_at
from tests.properties import examples

START = to_epoch_s(datetime(2015, 1, 1, tzinfo=UTC))
STOP = to_epoch_s(datetime(2030, 1, 1, tzinfo=UTC))


def segments(local: zoneinfo.ZoneInfo, start: int, stop: int) -> Iterator[Segment]:
    """Those that meet [start, stop), in order."""
    while start < stop:
        segment = segment_at(local, start)
        yield segment
        start = segment.end


def changes(found: list[Segment]) -> list[tuple[int, int]]:
    """Where the offset changes, and by how much."""
    return [
        (after.start, abs(after.offset - before.offset))
        for before, after in pairwise(found)
        if after.offset != before.offset
    ]


def test_a_zone_is_loaded_once_and_without_touching_the_search_path() -> None:
    before = zoneinfo.TZPATH
    assert zone("Europe/Berlin") is zone("Europe/Berlin")
    assert zone("Europe/Berlin").key == "Europe/Berlin"
    assert before == zoneinfo.TZPATH


def test_the_version_of_the_rules_is_known() -> None:
    assert tzdata_version()[:4].isdigit()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Europe/Berln", 'time zone "Europe/Berln" is unknown, did you mean Europe/Berlin?'),
        ("europe/berlin", 'time zone "europe/berlin" is unknown, did you mean Europe/Berlin?'),
        ("Berlin", 'time zone "Berlin" is unknown, did you mean Europe/Berlin?'),
        ("new york", 'time zone "new york" is unknown, did you mean America/New_York?'),
        ("Mars", 'time zone "Mars" is unknown, expected a name like Europe/Berlin'),
        ("", 'time zone "" is unknown, expected a name like Europe/Berlin'),
    ],
)
def test_an_unknown_zone_is_refused_with_a_hint(name: str, message: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        zone(name)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "name", ["../zones", "/etc/localtime", "Europe", "Europe/../UTC", "Europe//Berlin", "UTC\0"]
)
def test_a_name_cannot_lead_out_of_the_zone_data(name: str) -> None:
    with pytest.raises(InvalidTrigger):
        zone(name)


def test_segments_leave_no_holes_and_know_their_offset() -> None:
    found = list(segments(zone("Europe/Berlin"), START, STOP))
    assert all(before.end == after.start for before, after in pairwise(found))
    assert found[0].start <= START
    assert found[-1].end >= STOP
    assert {one.offset for one in found} == {3600, 7200}
    assert len(changes(found)) == 30


@pytest.mark.proof
def test_every_zone_keeps_each_offset_longer_than_the_changes_around_it() -> None:
    for name in sorted(zone_names()):
        for (start, began), (end, ended) in pairwise(changes(list(segments(zone(name), START, STOP)))):
            assert end - start > began + ended, name


@examples(150)
@given(name=st.sampled_from(sorted(zone_names())), day=st.integers(-30_000, 40_000))
def test_no_change_of_the_clocks_escapes_the_probes(name: str, day: int) -> None:
    start = day * DAY_S
    for segment in segments(zone(name), start, start + 40 * DAY_S):
        for instant in range(segment.start, segment.end, 4 * 3600):
            assert offset_s(zone(name), instant) == segment.offset
        assert offset_s(zone(name), segment.end - 1) == segment.offset


def test_a_fold_across_the_edge_of_a_chunk_is_seen_from_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A zone whose clocks go back an hour, 600 s after the edge."""
    edge, berlin = CHUNK_S, zone("Europe/Berlin")
    monkeypatch.setattr(offsets, "offset_s", lambda _, at: 3600 if at < edge + 600 else 0)
    monkeypatch.setattr(offsets, "transition_s", lambda *_: edge + 600)
    chunk = offsets._chunk_segments.__wrapped__
    left, (middle, right) = chunk(berlin, 0)[-1], chunk(berlin, 1)

    assert left.recurs_from == middle.recurs_from == edge + 600
    assert left.end + left.offset == edge + 3600
    assert right.repeats_until == edge + 600 + 3600
    assert (left.gap_s, middle.gap_s, right.gap_s) == (0, 0, 0)
