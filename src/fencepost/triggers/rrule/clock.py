"""The times of day of a recurrence rule, as one bitmask: bit 0 for midnight, a bit for each second.

An interval of hours, minutes or seconds runs on through midnight, so that each day has seconds of its own: a
comb laid over the mask and shifted by the day's phase, which is a remainder. With a wide comb and few bits a
day may have nothing at all. A second is met on days of one residue class, so that the days which have
something are known without looking at the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import gcd

from fencepost.triggers.rrule.parts import Frequency, Parts

DAY_S = 86_400
UNITS_S = {Frequency.HOURLY: 3_600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}
YEAR_DAYS_MAX = 366
ALL_DAYS = -1

# Of more seconds than these the list would be long. Then days are looked at one by one.
CLASSES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Clock:
    """The seconds of a day, on every day alike."""

    seconds: int

    def on(self, day: int) -> int:
        """The seconds of that day."""
        return self.seconds

    def days(self, begins: int) -> int:
        """The days of the year from a day number on that may have seconds."""
        return ALL_DAYS if self.seconds else 0


@dataclass(frozen=True, slots=True)
class CombedClock:
    """Those seconds of a day that meet a tooth: one every `step_s`, counted from `phase_s`.

    The days that meet any repeat after a `cycle` of days. They are a bitmask, a year longer than the cycle,
    where the cycle is short, and a list where it is long; neither says anything of a crowded clock.
    """

    seconds: int
    step_s: int
    phase_s: int
    comb: int
    cycle: int
    pattern: int = ALL_DAYS
    classes: tuple[int, ...] = ()

    def on(self, day: int) -> int:
        """The seconds of that day."""
        first_tooth = (self.phase_s - day * DAY_S) % self.step_s
        return self.seconds & self.comb << first_tooth if first_tooth < DAY_S else 0

    def days(self, begins: int) -> int:
        """The days of the year from a day number on that may have seconds."""
        low = begins % self.cycle
        if not self.classes:
            return self.pattern >> low
        return _bits((*self._between(low, 0), *self._between(low, self.cycle)))

    def _between(self, low: int, turn: int) -> list[int]:
        """The listed days less than a year from `low` on, the cycle turned once or not."""
        first, last = (bisect_left(self.classes, edge - turn) for edge in (low, low + YEAR_DAYS_MAX))
        return [one + turn - low for one in self.classes[first:last]]


def clock(parts: Parts, start: int) -> Clock | CombedClock:
    """The times of day; where the rule leaves a unit shorter than its period open, that of the start."""
    seconds = _seconds(parts, start % DAY_S)
    if parts.frequency <= Frequency.DAILY or parts.interval == 1:
        return Clock(seconds)
    return _combed(seconds, start, UNITS_S[parts.frequency], parts.interval)


def picks(seconds: int, positions: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """For each position in a set of days times seconds, which day, and the second."""
    times = set_bits(seconds)
    places = (divmod(one - 1 if one > 0 else one, len(times)) for one in positions)
    return tuple(sorted({(day, times[index]) for day, index in places}))


def set_bits(mask: int) -> list[int]:
    """The places of the set bits, ascending."""
    return [place for place, digit in enumerate(reversed(f"{mask:b}")) if digit == "1"]


def _seconds(parts: Parts, time: int) -> int:
    levels = (
        (parts.seconds, 1, 60, time % 60, Frequency.MINUTELY),
        (parts.minutes, 60, 60, time // 60 % 60, Frequency.HOURLY),
        (parts.hours, 3_600, 24, time // 3_600, Frequency.DAILY),
    )
    bits = _thinned(1, parts.positions) if parts.frequency == Frequency.SECONDLY else 1
    for listed, unit_s, count, implied, period in levels:
        values = listed or ((implied,) if parts.frequency <= period else range(count))
        bits = sum(bits << unit_s * value for value in values)
        if parts.frequency == period:
            bits = _thinned(bits, parts.positions)
    return bits


def _thinned(bits: int, positions: tuple[int, ...]) -> int:
    """The bits at these positions, all of them where no position is given."""
    if not positions or not bits:
        return bits
    return _bits({time for day, time in picks(bits, positions) if day in (0, -1)})


def _combed(seconds: int, start: int, unit_s: int, interval: int) -> CombedClock:
    step_s, phase_s = unit_s * interval, start - start % unit_s
    # What lies outside of this residue class is never met, on no day.
    residue_s = gcd(step_s, DAY_S)
    seconds &= _comb(unit_s, residue_s) << phase_s % residue_s
    found = CombedClock(seconds, step_s, phase_s, _comb(unit_s, step_s), step_s // residue_s)
    if not seconds:
        return replace(found, pattern=0)
    if found.cycle == 1 or seconds.bit_count() > CLASSES_MAX:
        return found
    classes = _classes(seconds, phase_s, unit_s, step_s)
    if found.cycle > YEAR_DAYS_MAX:
        return replace(found, classes=classes)
    return replace(found, pattern=_repeated(_bits(classes), found.cycle, found.cycle + YEAR_DAYS_MAX))


def _classes(seconds: int, phase_s: int, unit_s: int, step_s: int) -> tuple[int, ...]:
    """The days, modulo the cycle, on which a tooth meets one of the seconds.

    A tooth begins on the second t of day d where d × 86,400 + t ≡ phase (mod step). Both sides are
    multiples of what the step and the day share; divided by it, the day's factor has an inverse.
    """
    residue_s = gcd(step_s, DAY_S)
    cycle = step_s // residue_s
    inverse = pow(DAY_S // residue_s, -1, cycle)
    teeth = {second - second % unit_s for second in set_bits(seconds)}
    return tuple(sorted({(phase_s - tooth) // residue_s * inverse % cycle for tooth in teeth}))


def _comb(tooth_s: int, step_s: int) -> int:
    """A tooth every `step_s` seconds, for a day."""
    return _repeated((1 << tooth_s) - 1, step_s, DAY_S)


def _repeated(bits: int, period: int, length: int) -> int:
    """The bits again after each period, for the length at least."""
    while period < length:
        bits |= bits << period
        period *= 2
    return bits


def _bits(places: Iterable[int]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits
