"""Fixtures for pytest: the application on a bench.

A project says which application it means by a fixture of its own:

    @pytest.fixture
    def fencepost_app():
        return shop.app

`fencepost_bench` then is a `Bench` for async tests, under any plugin that runs them;
`fencepost_plain_bench` a `PlainBench` for tests that are not async. The clock begins at `fencepost_now`,
which can be overridden too.

pytest loads this file in every project in which Fencepost is installed: it imports nothing of Fencepost
before a fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fencepost.app import Fencepost
    from fencepost.testing.bench import Bench
    from fencepost.testing.clock import VirtualClock
    from fencepost.testing.plain import PlainBench

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def fencepost_app() -> Fencepost:
    """The application under test: override this."""
    raise pytest.UsageError(
        "fencepost: define a fixture fencepost_app that returns your application, for example in conftest.py"
    )


@pytest.fixture
def fencepost_now() -> str:
    """Where the bench's clock begins: override this where it matters."""
    return NOW


@pytest.fixture
def fencepost_clock(fencepost_now: str) -> VirtualClock:
    """The clock of the bench; it moves only when the bench is advanced."""
    from datetime import UTC

    from fencepost.model.times import read_time
    from fencepost.testing.clock import VirtualClock

    return VirtualClock(read_time(fencepost_now, UTC))


@pytest.fixture
def fencepost_bench(fencepost_app: Fencepost, fencepost_clock: VirtualClock) -> Iterator[Bench]:
    """The application on a bench, for async tests; it begins with the first `drain` or `advance`."""
    from fencepost.testing.bench import Bench

    bench = Bench(fencepost_app, clock=fencepost_clock)
    bench.stand()
    yield bench
    bench.leave()


@pytest.fixture
def fencepost_plain_bench(fencepost_app: Fencepost, fencepost_clock: VirtualClock) -> Iterator[PlainBench]:
    """The application on a bench, for tests that are not async."""
    from fencepost.testing.plain import PlainBench

    with PlainBench(fencepost_app, clock=fencepost_clock) as bench:
        yield bench
