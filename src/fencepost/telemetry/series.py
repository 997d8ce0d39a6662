"""The numbers behind the metrics: plain dictionaries, because they are written for every run.

Safe to use from any thread. What a label may be is not decided here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

from fencepost.telemetry.catalogue import Kind, Metric

Labels = tuple[str, ...]


class Spread(NamedTuple):
    """A histogram at one moment: how many values did not exceed each bound, with those beyond all of them as
    the last, and what they add up to."""

    cumulative: list[int]
    total: float


class Series:
    """The values of many metrics. One without labels is there from the start."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._writing = Lock()
        self._values: dict[str, dict[Labels, float]] = {}
        self._counts: dict[str, dict[Labels, list[int]]] = {}
        for one in metrics:
            self._values[one.name] = {} if one.labels else {(): 0.0}
            if one.kind is Kind.HISTOGRAM:
                self._counts[one.name] = {} if one.labels else {(): [0] * (len(one.buckets) + 1)}

    def add(self, metric: Metric, labels: Labels = (), by: float = 1) -> None:
        """Count."""
        values = self._values[metric.name]
        with self._writing:
            values[labels] = values.get(labels, 0.0) + by

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Stand at this value."""
        with self._writing:
            self._values[metric.name][labels] = value

    def show_only(self, metric: Metric, values: dict[Labels, float], gone: float | None = None) -> None:
        """These and no others; what was there before is `gone`, or not there any more."""
        with self._writing:
            before = dict.fromkeys(self._values[metric.name], gone) if gone is not None else {}
            self._values[metric.name] = before | values

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """One more value of a histogram."""
        counts, totals = self._counts[metric.name], self._values[metric.name]
        place = bisect_left(metric.buckets, value)
        with self._writing:
            found = counts.get(labels)
            if found is None:
                found = counts[labels] = [0] * (len(metric.buckets) + 1)
            found[place] += 1
            totals[labels] = totals.get(labels, 0.0) + value

    def values(self, metric: Metric) -> list[tuple[Labels, float]]:
        """Every series of a counter or a gauge."""
        with self._writing:
            return list(self._values[metric.name].items())

    def spreads(self, metric: Metric) -> list[tuple[Labels, Spread]]:
        """Every series of a histogram."""
        with self._writing:
            totals = self._values[metric.name]
            return [
                (labels, Spread(list(accumulate(counts)), totals[labels]))
                for labels, counts in self._counts[metric.name].items()
            ]
