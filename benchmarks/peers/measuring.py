"""What the script of every contender shares: how it is called, the meter, and the payload.

A script runs in the environment of its peer, so this file needs nothing but Python. It is called as
`python with_NAME.py STEP OPTIONS`, with options in JSON. It answers one line of JSON on stdout.
A step that measures says `ready` first and waits for a line on stdin, so that imports are not measured.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAYLOAD: dict[str, Any] = {"account": 4711, "region": "eu-west", "note": "x" * 50}
"""What every job gets: 100 bytes of JSON."""
BATCH = 1_000
"""How many jobs one call of a bulk enqueue has, where the peer has one."""
WARM_UPS = 10
LOOK_S = 0.01
PATIENCE_S = 300.0
SILENCE_S = 10.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

Answer = dict[str, float]
Step = Callable[["Options"], Any]


@dataclass(frozen=True)
class Options:
    """What a step is asked for."""

    url: str
    server_pid: int = 0
    """Of PostgreSQL's first process; 0 where there is no server."""
    count: int = 0
    tuned: bool = False
    due_at: float = 0.0
    table: str = ""


class Meter:
    """Seconds, and processor time of this process and of the server, since it was made."""

    def __init__(self, options: Options) -> None:
        self._pid = options.server_pid
        self._before = self._now()

    def read(self, count: int) -> Answer:
        """How many a second, and microseconds for each."""
        spans = [after - before for before, after in zip(self._before, self._now(), strict=True)]
        seconds, client_s, server_s = spans
        return {
            "seconds": seconds,
            "per_s": count / seconds,
            "client_us": client_s / count * 1e6,
            "server_us": server_s / count * 1e6,
        }

    def _now(self) -> tuple[float, float, float]:
        return time.perf_counter(), processor_s(), server_s(self._pid) if self._pid else 0.0


def processor_s() -> float:
    """Of this process and of the children that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def server_s(pid: int) -> float:
    """Of a PostgreSQL: its first process, those that it has waited for, and those that live."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(_spent(pid)) + sum(sum(_spent(int(child))[:2]) for child in children)


def _spent(pid: int) -> list[float]:
    """User and system time, and both of the children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0.0]
    return [int(ticks) / TICKS_PER_S for ticks in fields[11:15]]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def lateness(seconds: Sequence[float], most: int) -> Answer:
    """What is told of many times: the middle, the slow end, and how many there are of those expected."""
    if not seconds:
        return {"p50_ms": 0.0, "p99_ms": 0.0, "max_ms": 0.0, "ran": 0, "expected": most}
    return {
        "p50_ms": percentile(seconds, 0.5) * 1000,
        "p99_ms": percentile(seconds, 0.99) * 1000,
        "max_ms": max(seconds) * 1000,
        "ran": len(seconds),
        "expected": most,
    }


class Counter:
    """Counts jobs that were executed, and notes when the last of them was."""

    def __init__(self) -> None:
        self.count = 0
        self.at: list[float] = []
        self.arrived = asyncio.Event()

    def add(self) -> None:
        """One more."""
        self.count += 1

    def note(self) -> None:
        """One more, at this time of day."""
        self.count += 1
        self.at.append(time.time())
        self.arrived.set()


async def drained(counter: Counter, is_empty: Callable[[], Awaitable[bool]]) -> None:
    """Until the store says that nothing is left. It is asked only while no job ends: asking costs little."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            before = counter.count
            await asyncio.sleep(LOOK_S)
            if counter.count == before and await is_empty():
                return


async def all_ran(counter: Counter, options: Options) -> None:
    """Until each has run, or none has in many looks after they were due: a blocked loop does not look."""
    last, looks = -1, 0
    while counter.count < options.count and looks < SILENCE_S / LOOK_S:
        looks = looks + 1 if counter.count == last and time.time() > options.due_at else 0
        last = counter.count
        await asyncio.sleep(LOOK_S)


async def pick_ups(count: int, enqueue: Callable[[], Awaitable[object]], counter: Counter) -> Answer:
    """From before the enqueue to inside the job, one after the other, by an idle worker."""
    spans = []
    for _ in range(WARM_UPS + count):
        await asyncio.sleep(0.02)
        counter.arrived.clear()
        sent = time.time()
        await enqueue()
        await asyncio.wait_for(counter.arrived.wait(), 60)
        spans.append(counter.at[-1] - sent)
    return lateness(spans[WARM_UPS:], count)


def batches(count: int) -> list[list[dict[str, Any]]]:
    """The payloads of a bulk enqueue."""
    return [[PAYLOAD] * min(BATCH, count - start) for start in range(0, count, BATCH)]


def set_up_logging(options: Options) -> None:
    """As the command lines of the peers do by default: info, to stderr; warning where it is tuned."""
    logging.basicConfig(level=logging.WARNING if options.tuned else logging.INFO)


def ready() -> None:
    """Say so, and wait to be told to go on."""
    print("ready", flush=True)
    sys.stdin.readline()


async def stand_idle() -> None:
    """Say so, and wait for the end of stdin."""
    await asyncio.to_thread(ready)


def main(steps: Mapping[str, Step], run: Callable[[Any], Any] = asyncio.run) -> None:
    """One step, as the command line says."""
    step, options = steps[sys.argv[1]], Options(**json.loads(sys.argv[2]))
    answer = step(options)
    if inspect.iscoroutine(answer):
        answer = run(answer)
    print(json.dumps(answer or {}), flush=True)
