"""SQLite: what a user gets, beside bare loops on a lean table and on ours."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.contest import OURS, Contender, middle, module
from benchmarks.peers.measuring import Answer, Options
from benchmarks.report import Figure, heading

RUNS, SINGLES = 20_000, 500
TRIES = 5
SHARE = 0.25
LOOPS = [Contender(f"{table} table", module("raw_sqlite"), table) for table in ("lean", "runs")]


def measure() -> Iterator[Figure]:
    """Enqueue and drain of fresh files, in turns."""
    heading(f"SQLite: {RUNS:,} runs, {TRIES} times in turns")
    taken: dict[tuple[str, str], list[Answer]] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = (Path(folder) / f"{number}.db" for number in count())
        for _ in range(TRIES):
            for contender in (OURS, *LOOPS):
                for step, answer in _round(contender, f"sqlite:///{next(paths)}"):
                    taken.setdefault((contender.name, step), []).append(answer)
    best = {key: middle(answers) for key, answers in taken.items()}
    yield _figure("SQLite bulk enqueue", best, "bulk", 40_000)
    yield _figure("SQLite enqueue one by one", best, "single", None)
    yield _figure("SQLite drain, 200 at once, log level warning", best, "drain", 15_000)


def _round(contender: Contender, url: str) -> Iterator[tuple[str, Answer]]:
    contender.take("install", Options(url))
    yield "bulk", contender.take("bulk", Options(url, count=RUNS, tuned=True))
    yield "drain", contender.take("drain", Options(url, count=RUNS, tuned=True))
    yield "single", contender.take("single", Options(url, count=SINGLES, tuned=True))


def _figure(name: str, best: dict[tuple[str, str], Answer], step: str, least: int | None) -> Figure:
    ours, beside = best[OURS.name, step], {one.name: best[one.name, step]["per_s"] for one in LOOPS}
    value = ours["per_s"]
    goal = "" if least is None else f"≥ {least:,}/s or ≥ {SHARE:.0%} of the loop on the lean table"
    good = None if least is None else value >= least or value >= SHARE * beside["lean table"]
    return Figure(name, value, "runs/s", beside, goal, good, client_us=ours["client_us"])
