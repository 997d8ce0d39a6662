"""What a measurement is, and how it is shown."""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TypedDict

from benchmarks.peers.measuring import Answer


@dataclass(frozen=True)
class Figure:
    """One figure, with what it is compared with and what it costs."""

    name: str
    value: float
    unit: str
    beside: Mapping[str, float] = field(default_factory=dict)
    goal: str = ""
    good: bool | None = None
    note: str = ""
    client_us: float | None = None
    """For each run: processor time of the client and of the server, then what pg_stat_statements counted."""
    server_us: float | None = None
    statements: float | None = None
    executed_us: float | None = None

    @property
    def shares(self) -> dict[str, float]:
        return {name: self.value / other for name, other in self.beside.items() if other}


class Costs(TypedDict):
    """Of one run."""

    client_us: float
    server_us: float
    statements: float
    executed_us: float


def costs(answer: Answer) -> Costs:
    """What a step says of its costs, as a figure has them."""
    return {
        "client_us": answer["client_us"],
        "server_us": answer["server_us"],
        "statements": answer["statements"],
        "executed_us": answer["executed_us"],
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def show(
    figures: Sequence[Figure], as_json: bool, about: Mapping[str, str], notes: Sequence[str] = ()
) -> None:
    """A table for people, or one JSON document; both say when it began and of which commit."""
    if as_json:
        rows = [{**asdict(one), "shares": one.shares} for one in figures]
        sys.stdout.write(json.dumps({**about, "notes": notes, "figures": rows}, indent=2) + "\n")
        return
    sys.stdout.write(f"commit {about['commit']}, {about['date']}, Python {about['python']}\n")
    for line in [*notes, *map(_line, figures), *missed(figures)]:
        sys.stdout.write(line + "\n")


def circumstances() -> dict[str, str]:
    """What is measured, and when it begins."""
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"], check=False, capture_output=True, text=True
    )
    return {
        "commit": asked.stdout.strip() or "unknown",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
    }


def missed(figures: Sequence[Figure]) -> list[str]:
    """One line for each goal that was not met."""
    return [f"goal not met: {one.name}: {one.goal}" for one in figures if one.good is False]


def heading(text: str) -> None:
    """A part of the report, as soon as it begins."""
    sys.stderr.write(f"· {text}\n")
    sys.stderr.flush()


def _line(one: Figure) -> str:
    shares = "; ".join(f"{share:.0%} of {name} {one.beside[name]:,.0f}" for name, share in one.shares.items())
    verdict = {None: "", True: "met", False: "NOT MET"}[one.good]
    parts = [
        f"{one.name:58} {one.value:12,.{1 if one.value >= 10 else 2}f} {one.unit:8}",
        _cost(one),
        shares,
        f"goal {one.goal} {verdict}" if one.goal else "",
        f"({one.note})" if one.note else "",
    ]
    return "  ".join(part for part in parts if part)


def _cost(one: Figure) -> str:
    if one.client_us is None:
        return ""
    server = f" + {one.server_us:.0f} server" if one.server_us else ""
    statements = f", {one.statements:.3f} stmt" if one.statements is not None else ""
    return f"[µs/run: {one.client_us:.0f} client{server}{statements}]"
