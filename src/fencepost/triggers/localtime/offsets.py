"""A zone as segments of constant offset from UTC, found by probing and kept in a bounded cache."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from fencepost.model.times import offset_s, transition_s

DAY_S = 86_400
CHUNK_BITS = 25
CHUNK_S = 1 << CHUNK_BITS
CHUNKS_MAX = 2048

# No zone has ever changed its clocks twice within six days, so that probes miss no change.
PROBE_S = 3 * DAY_S
# No zone has ever changed its clocks by more than a day and a bit.
MARGIN_S = 2 * DAY_S


@dataclass(frozen=True, slots=True)
class Segment:
    """The UTC seconds [start, end), in which local wall seconds are UTC seconds plus `offset`.

    `gap_s` is how much local time the clocks skipped at `start`. Wall seconds before
    `repeats_until` have been shown before; wall seconds from `recurs_from` on will be shown
    again.
    """

    start: int
    end: int
    offset: int
    gap_s: int
    repeats_until: int
    recurs_from: int


@dataclass(frozen=True, slots=True)
class Transition:
    """The clocks go from one offset to another at the UTC second `at`."""

    at: int
    before: int
    after: int


def segment_at(zone: ZoneInfo, instant_s: int) -> Segment:
    """The segment that holds a UTC second."""
    for segment in _chunk_segments(zone, instant_s >> CHUNK_BITS):
        if instant_s < segment.end:
            return segment
    raise AssertionError("a chunk's segments fill it")


@lru_cache(maxsize=CHUNKS_MAX)
def _chunk_segments(zone: ZoneInfo, chunk: int) -> tuple[Segment, ...]:
    low, high = chunk << CHUNK_BITS, (chunk + 1) << CHUNK_BITS
    transitions = tuple(_transitions(zone, low - MARGIN_S, high + MARGIN_S))
    cuts = [low, *(one.at for one in transitions if low < one.at < high), high]
    return tuple(_segment(transitions, start, end) for start, end in pairwise(cuts))


def _transitions(zone: ZoneInfo, low: int, high: int) -> Iterator[Transition]:
    """The changes in (low, high], between two that change nothing: one at either end."""
    before = offset_s(zone, low)
    yield Transition(low, before, before)
    for probe in range(low, high, PROBE_S):
        upper = min(probe + PROBE_S, high)
        after = offset_s(zone, upper)
        if after != before:
            yield Transition(transition_s(zone, probe, upper), before, after)
            before = after
    yield Transition(high, before, before)


def _segment(transitions: tuple[Transition, ...], start: int, end: int) -> Segment:
    """The segment [start, end), each bound of which is a transition or the edge of a chunk.

    A fold next to the edge is seen from both sides of it, which is why the transitions reach
    beyond the chunk. A transition far away, or one that is a gap, moves neither bound into the
    segment.
    """
    last = transitions[bisect_right(transitions, start, key=_at) - 1]
    coming = transitions[bisect_left(transitions, end, key=_at)]
    return Segment(
        start=start,
        end=end,
        offset=last.after,
        gap_s=max(0, last.after - last.before) if last.at == start else 0,
        repeats_until=last.at + last.before,
        recurs_from=coming.at + coming.after,
    )


def _at(transition: Transition) -> int:
    return transition.at
