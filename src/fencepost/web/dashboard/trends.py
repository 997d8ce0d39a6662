"""Trends: how long runs took and how late they began, over time, by the half and by nearly all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from fencepost.model.dataclasses import dataclass
from fencepost.model.run import RunRecord, took_s
from fencepost.model.views import TrafficBucket, percentile
from fencepost.web.dashboard.charts.bars import Line, lines
from fencepost.web.dashboard.tell import span

STRETCHES = 48
"""How many points the trend of one schedule has."""


class Point(NamedTuple):
    """One stretch of time: its label, and what half of the runs, 95 % and all of them stay within."""

    label: str
    half_s: float | None = None
    most_s: float | None = None
    all_s: float | None = None


@dataclass(frozen=True)
class Trend:
    """One picture, and the worst of it."""

    chart: Markup
    worst_s: float | None


def durations(buckets: Iterable[TrafficBucket], clock: Callable[[datetime], str], when: str) -> Trend:
    """How long the runs of a namespace took."""
    points = [Point(clock(one.at), one.took_p50_s, one.took_p95_s, one.took_max_s) for one in buckets]
    return trend(points, f"How long runs took, {when}")


def lateness(buckets: Iterable[TrafficBucket], clock: Callable[[datetime], str], when: str) -> Trend:
    """How late the runs of a namespace began."""
    points = [Point(clock(one.at), one.late_p50_s, one.late_p95_s, one.late_max_s) for one in buckets]
    return trend(points, f"How late runs began, {when}")


def durations_of(
    runs: Sequence[RunRecord], since: datetime, until: datetime, clock: Callable[[datetime], str]
) -> Trend:
    """How long the runs of one schedule took."""
    points = _points(runs, since, until, clock, lambda run: took_s(run.started_at, run.finished_at))
    return trend(points, "How long runs took")


def lateness_of(
    runs: Sequence[RunRecord], since: datetime, until: datetime, clock: Callable[[datetime], str]
) -> Trend:
    """How late the runs of one schedule began."""
    return trend(_points(runs, since, until, clock, lambda run: run.late_s), "How late runs began")


def trend(points: Sequence[Point], label: str) -> Trend:
    """Two lines; each point says in words what it is."""
    worst_s = max((one.all_s for one in points if one.all_s is not None), default=None)
    wires = (
        Line("half of them", tuple(one.half_s for one in points)),
        Line("95 %", tuple(one.most_s for one in points)),
    )
    said = label if worst_s is None else f"{label}; at most {span(worst_s)}"
    titles, labels = [_title(one) for one in points], [one.label for one in points]
    return Trend(lines(wires, titles, labels, said, span), worst_s)


def _title(point: Point) -> str:
    if point.all_s is None:
        return f"{point.label}: no run"
    half, most, all_of_them = (span(one) for one in (point.half_s, point.most_s, point.all_s))
    return f"{point.label}: half within {half}, 95 % within {most}, all within {all_of_them}"


def _points(
    runs: Sequence[RunRecord],
    since: datetime,
    until: datetime,
    clock: Callable[[datetime], str],
    measure: Callable[[RunRecord], float | None],
) -> list[Point]:
    """The runs in stretches of the same length; what fired at the very end is in the last."""
    step = (until - since) / STRETCHES
    values: list[list[float]] = [[] for _ in range(STRETCHES)]
    for run in runs:
        value = measure(run)
        if value is not None and since <= run.fire_time <= until:
            values[min((run.fire_time - since) // step, STRETCHES - 1)].append(value)
    return [
        Point(clock(since + number * step), *(percentile(sorted(found), part) for part in (0.5, 0.95, 1.0)))
        for number, found in enumerate(values)
    ]
