"""Celery on Redis, schedules by RedBeat. Tuned as its guide on optimizing says: no results, more prefetched.

The worker is a process of its own, started on another queue, so that only work is measured. Its processor
time is the client's. Redis keeps nothing on disk here: it acknowledges what a crash would lose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis
from celery import Celery
from celery.schedules import crontab
from measuring import (
    PATIENCE_S,
    PAYLOAD,
    SILENCE_S,
    WARM_UPS,
    Answer,
    Meter,
    Options,
    lateness,
    main,
    ready,
    server_s,
)
from redbeat import RedBeatSchedulerEntry

if __name__ == "__main__":
    ASKED = json.loads(sys.argv[2])
    os.environ |= {"BENCH_REDIS": ASKED["url"], "BENCH_TUNED": "yes" if ASKED["tuned"] else ""}
URL, IS_TUNED = os.environ["BENCH_REDIS"], bool(os.environ["BENCH_TUNED"])
"""The worker imports this file too, and finds here what the script was asked."""
QUIET = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
app = Celery("with_celery", broker=URL)
app.conf.update(
    task_default_queue="jobs", redbeat_redis_url=URL, broker_connection_retry_on_startup=True, enable_utc=True
)
if IS_TUNED:
    app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=128)


def _noop(account: int, region: str, note: str) -> None:
    pass


def _mark(account: int, region: str, note: str) -> None:
    redis.from_url(URL).rpush("seen", time.time())


noop, mark = app.task(name="noop")(_noop), app.task(name="mark")(_mark)


def install(options: Options) -> None:
    pass


def single(options: Options) -> Answer:
    """There is no way to send many at once: bulk is this too."""
    with app.connection_for_write() as connection, app.amqp.Producer(connection) as producer:
        ready()
        meter = Meter(options)
        for _ in range(options.count):
            noop.apply_async(kwargs=PAYLOAD, producer=producer)
        return meter.read(options.count)


def drain(options: Options) -> Answer:
    store = redis.from_url(options.url)
    with _worker(options, "nothing") as worker:
        ready()
        meter, before = Meter(options), server_s(worker.pid)
        app.control.add_consumer("jobs")
        _until(lambda: store.llen("jobs") == 0 and store.hlen("unacked") == 0)
        answer = meter.read(options.count)
        return answer | {"client_us": (server_s(worker.pid) - before) / options.count * 1e6}


def pick_up(options: Options) -> Answer:
    spans: list[float] = []
    store: Any = redis.from_url(options.url)
    with _worker(options, "jobs"):
        for _ in range(WARM_UPS + options.count):
            time.sleep(0.02)
            sent = time.time()
            mark.apply_async(kwargs=PAYLOAD)
            spans.append(float(store.blpop("seen", timeout=60)[1]) - sent)
    return lateness(spans[WARM_UPS:], options.count)


def schedules(options: Options) -> Answer:
    """Due at a whole minute, as a crontab has it."""
    due, store = datetime.fromtimestamp(options.due_at, UTC), redis.from_url(options.url)
    at = crontab(minute=str(due.minute), hour=str(due.hour))
    for number in range(options.count):
        RedBeatSchedulerEntry(f"tick-{number}", "mark", at, kwargs=PAYLOAD, app=app).save()
    with ExitStack() as stack:
        stack.enter_context(_worker(options, "jobs"))
        stack.enter_context(_celery(options, "beat", "--scheduler", "redbeat.RedBeatScheduler"))
        _until_silence(options, lambda: store.llen("seen"))
    seen = [float(moment) - options.due_at for moment in store.lrange("seen", 0, -1)]
    return lateness(seen, options.count)


@contextmanager
def _worker(options: Options, queue: str) -> Iterator[subprocess.Popen[bytes]]:
    with _celery(options, "worker", "--queues", queue, *(QUIET if options.tuned else [])) as worker:
        _until(lambda: bool(app.control.ping(timeout=1)))
        yield worker


@contextmanager
def _celery(options: Options, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    level = "warning" if options.tuned else "info"
    command = [sys.executable, "-m", "celery", "-A", "with_celery", *words, "--loglevel", level]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def _until_silence(options: Options, count: Callable[[], Any]) -> None:
    last, at = -1, time.time()
    while count() < options.count and time.time() - max(at, options.due_at) < SILENCE_S:
        if count() > last:
            last, at = count(), time.time()
        time.sleep(0.1)


STEPS = {
    "install": install,
    "bulk": single,
    "single": single,
    "drain": drain,
    "pick_up": pick_up,
    "schedules": schedules,
}

if __name__ == "__main__":
    main(STEPS)
