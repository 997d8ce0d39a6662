"""PostgreSQL: what a user gets, beside bare driver loops on a lean table and on ours, in turns."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.contest import OURS, Contender, Ground, middle, module, together
from benchmarks.peers.measuring import Answer
from benchmarks.report import Figure, costs, heading

RUNS, SINGLES, PICKUPS = 20_000, 1_500, 300
TRIES, TRIES_TWO = 5, 3
IDLE_S, IDLE_SCHEDULES = 60.0, 100
SETTLED_S = 30.0
"""A session that is idle tells the server of its transactions within ten seconds, also those of the start."""
LEAN, TABLE = (Contender(f"{table} table", module("raw_postgres"), table) for table in ("lean", "runs"))
COPY_SHARE, SINGLE_SHARE, DRAIN_SHARE = 0.45, 0.65, 0.45
CLIENT_US, SERVER_US = 60.0, 45.0
P50_MS, P99_MS = 2.0, 6.0
TWO_WORKERS = 1.6
TUNED, PLAIN = "200 at once, log level warning", "plain defaults (20, info)"
IDLE = {"scheduler": "plans only", "worker": "works only", "both": "both"}

Taken = dict[tuple[str, str], Answer]


def measure(ground: Ground) -> Iterator[Figure]:
    """All figures of runs, one part after the other."""
    best = _in_turns(ground)
    yield from _throughput(best)
    for name, limit in (("p50", P50_MS), ("p99", P99_MS)):
        value = best[OURS.name, "pick_up"][f"{name}_ms"]
        beside = {loop.name: best[loop.name, "pick_up"][f"{name}_ms"] for loop in (LEAN, TABLE)}
        good = value < limit
        yield Figure(f"pick-up when idle, {name}", value, "ms", beside, goal=f"< {limit:g}", good=good)
    yield _two_workers(ground)
    yield from _idle(ground)


def _in_turns(ground: Ground) -> Taken:
    """Each contender's steps, in turns as often as it says; then the median of each."""
    heading(f"{RUNS:,} runs by each contender, {TRIES} times in turns")
    taken: dict[tuple[str, str], list[Answer]] = {}
    for _ in range(TRIES):
        rounds = [(OURS, _ours(ground)), (LEAN, _loop(ground, LEAN)), (TABLE, _loop(ground, TABLE))]
        for contender, steps in rounds:
            for step, answer in steps:
                taken.setdefault((contender.name, step), []).append(answer)
    return {key: middle(answers) for key, answers in taken.items()}


def _ours(ground: Ground) -> Iterator[tuple[str, Answer]]:
    with ground.database() as url:
        OURS.take("install", ground.options(url))
        yield "bulk", ground.take(OURS, "bulk", url, count=RUNS, tuned=True)
        yield "drain", ground.take(OURS, "drain", url, count=RUNS, tuned=True)
        yield "single", ground.take(OURS, "single", url, count=SINGLES)
    with ground.database() as url:
        OURS.take("install", ground.options(url))
        OURS.take("bulk", ground.options(url, count=RUNS))
        yield "plain", ground.take(OURS, "drain", url, count=RUNS)
        yield "pick_up", ground.take(OURS, "pick_up", url, count=PICKUPS)


def _loop(ground: Ground, loop: Contender) -> Iterator[tuple[str, Answer]]:
    with ground.database() as url:
        loop.take("install", ground.options(url))
        yield "bulk", ground.take(loop, "bulk", url, count=RUNS)
        yield "drain", ground.take(loop, "drain", url, count=RUNS)
        yield "copy", ground.take(loop, "copy", url, count=RUNS)
        yield "single", ground.take(loop, "single", url, count=SINGLES)
    with ground.database() as url:
        loop.take("install", ground.options(url))
        yield "pick_up", ground.take(loop, "pick_up", url, count=PICKUPS)


def _throughput(best: Taken) -> Iterator[Figure]:
    yield _share(
        "bulk enqueue", best, "bulk", {"COPY": "copy", "insert": "bulk"}, "COPY, lean table", COPY_SHARE
    )
    yield _share(
        "enqueue one by one", best, "single", {"insert": "single"}, "insert, lean table", SINGLE_SHARE
    )
    yield _share(f"drain, {TUNED}", best, "drain", {"loop": "drain"}, "loop, lean table", DRAIN_SHARE)
    yield _share(f"drain, {PLAIN}", best, "plain", {"loop": "drain"})
    ours = best[OURS.name, "drain"]
    for name, limit in (("client", CLIENT_US), ("server", SERVER_US)):
        value = ours[f"{name}_us"]
        yield Figure(
            f"drain, processor of the {name}", value, "µs/run", goal=f"≤ {limit:g}", good=value <= limit
        )
    for step in ("copy", "bulk", "single", "drain"):
        for loop in (LEAN, TABLE):
            answer = best[loop.name, step]
            yield Figure(f"bare {step}, {loop.name}", answer["per_s"], "runs/s", **costs(answer))


def _share(
    name: str, best: Taken, step: str, loops: dict[str, str], goal: str = "", least: float = 0.0
) -> Figure:
    ours = best[OURS.name, step]
    beside = {
        f"{what}, {loop.name}": best[loop.name, other]["per_s"]
        for what, other in loops.items()
        for loop in (LEAN, TABLE)
    }
    good = ours["per_s"] >= least * beside[goal] if goal else None
    told = f"≥ {least:.0%} of {goal}" if goal else ""
    return Figure(name, ours["per_s"], "runs/s", beside, told, good, **costs(ours))


def _two_workers(ground: Ground) -> Figure:
    """One process against two, in turns; each time both drain the same number of runs."""
    heading(f"one worker process and two, {TRIES_TWO} times in turns")
    rates = [(_drained(ground, 1), _drained(ground, 2)) for _ in range(TRIES_TWO)]
    one, two = (sorted(of_these)[TRIES_TWO // 2] for of_these in zip(*rates, strict=True))
    goal = f"≥ {TWO_WORKERS:g} × one"
    return Figure("drain, two worker processes", two, "runs/s", {"one": one}, goal, two >= TWO_WORKERS * one)


def _drained(ground: Ground, processes: int) -> float:
    with ground.database() as url:
        OURS.take("install", ground.options(url))
        OURS.take("bulk", ground.options(url, count=RUNS))
        ground.settle(url)
        with together(OURS, "drain", ground.options(url, count=RUNS, tuned=True), processes) as workers:
            return RUNS / max(worker.answer()["seconds"] for worker in workers)


def _idle(ground: Ground) -> Iterator[Figure]:
    """What a process asks while nothing is due, counted by the server."""
    for role, name in IDLE.items():
        heading(f"a process that {name}, idle for {IDLE_S:g} s with {IDLE_SCHEDULES} schedules")
        with ground.database() as url:
            OURS.take("install", ground.options(url))
            yield from idle_figures(ground, OURS, url, f"idle_{role}", f"idle {role}")


def idle_figures(ground: Ground, contender: Contender, url: str, step: str, name: str) -> Iterator[Figure]:
    """Transactions and statements a second of one process that has nothing to do."""
    transactions, statements = idle_rates(ground, contender, url, step)
    yield Figure(name, transactions, "trans/s", goal="≤ 1", good=transactions <= 1)
    yield Figure(f"{name}, statements", statements, "stmt/s")


def idle_rates(ground: Ground, contender: Contender, url: str, step: str) -> tuple[float, float]:
    """Both counts are taken while the process runs, so that neither its start nor its end is among them."""
    with contender.process(step, ground.options(url, count=IDLE_SCHEDULES)) as running:
        running.until_ready()
        time.sleep(SETTLED_S)
        commits, statements = ground.commits(url), ground.statements(url)
        time.sleep(IDLE_S)
        commits, statements = ground.commits(url) - commits, ground.statements(url) - statements
    return commits / IDLE_S, statements / IDLE_S
