"""What a measurement is, and how it is shown."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One figure; with a raw limit it is judged as a share of it, else by itself."""

    name: str
    value: float
    unit: str
    raw: float | None = None
    goal: str = ""
    good: bool | None = None
    note: str = ""

    @property
    def share(self) -> float | None:
        return None if not self.raw else self.value / self.raw


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def show(figures: Sequence[Figure], as_json: bool) -> None:
    """A table for people, or one JSON document."""
    if as_json:
        rows = [{**asdict(one), "share": one.share} for one in figures]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    for one in figures:
        sys.stdout.write(_line(one) + "\n")


def heading(text: str) -> None:
    """A part of the report, as soon as it begins."""
    sys.stderr.write(f"· {text}\n")
    sys.stderr.flush()


def _line(one: Figure) -> str:
    share = "" if one.share is None else f"{one.share:6.0%} of raw {one.raw:,.0f}"
    verdict = {None: "", True: "  met", False: "  NOT MET"}[one.good]
    goal = f"  goal {one.goal}{verdict}" if one.goal else ""
    note = f"  ({one.note})" if one.note else ""
    return f"{one.name:58} {one.value:12,.1f} {one.unit:8} {share:24}{goal}{note}"
