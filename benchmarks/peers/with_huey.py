"""Huey on SQLite, in WAL mode with fsync. Tuned: no wait between looks at the queue, results not kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from huey import SqliteHuey
from measuring import (
    PATIENCE_S,
    PAYLOAD,
    WARM_UPS,
    Answer,
    Counter,
    Meter,
    Options,
    lateness,
    main,
    ready,
    set_up_logging,
)

TUNED = {"initial_delay": 0.01, "max_delay": 0.01, "backoff": 1.0}


def install(options: Options) -> None:
    _huey(options, lambda: None)


def single(options: Options) -> Answer:
    """There is no way to enqueue many at once: bulk is this too."""
    noop = _huey(options, lambda: None)[1]
    ready()
    meter = Meter(options)
    for _ in range(options.count):
        noop(**PAYLOAD)
    return meter.read(options.count)


def drain(options: Options) -> Answer:
    counter = Counter()
    huey = _huey(options, counter.add)[0]
    ready()
    meter = Meter(options)
    with _consumer(huey, options):
        _until(lambda: counter.count >= options.count)
        return meter.read(options.count)


def pick_up(options: Options) -> Answer:
    counter, spans = Counter(), []
    huey, noop = _huey(options, counter.note)
    with _consumer(huey, options):
        for number in range(WARM_UPS + options.count):
            time.sleep(0.02)
            sent = time.time()
            noop(**PAYLOAD)
            _until(partial(_is_beyond, counter, number))
            spans.append(counter.at[-1] - sent)
    return lateness(spans[WARM_UPS:], options.count)


def _is_beyond(counter: Counter, number: int) -> bool:
    return bool(counter.count > number)


def _huey(options: Options, job: Callable[[], None]) -> tuple[Any, Any]:
    set_up_logging(options)
    kept = {"results": False} if options.tuned else {}
    huey = SqliteHuey(filename=options.url.removeprefix("sqlite:///"), fsync=True, **kept)

    def noop(account: int, region: str, note: str) -> None:
        job()

    return huey, huey.task()(noop)


@contextmanager
def _consumer(huey: Any, options: Options) -> Iterator[None]:
    consumer = huey.create_consumer(**(TUNED if options.tuned else {}))
    consumer.start()
    try:
        yield
    finally:
        consumer.stop(graceful=True)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.0005)


STEPS = {"install": install, "bulk": single, "single": single, "drain": drain, "pick_up": pick_up}

if __name__ == "__main__":
    main(STEPS)
