"""What all tests share: the servers' fixtures, readable failures, and Hypothesis without surprises."""

import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import AsyncExitStack
from dataclasses import fields

import pytest
from hypothesis import settings

from fencepost.config import Settings
from fencepost.model.variables import PREFIX
from tests.properties import examples

pytest_plugins = ["pytester", "tests.crashes", "tests.servers.fixtures"]

pytest.register_assert_rewrite("fencepost.testing.conformance", "tests.conformance.twins", "tests.browser")

settings.register_profile("dev", examples())
settings.register_profile("ci", examples(), derandomize=True, print_blob=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Settings of whoever runs the tests are not those of the tests.
for setting in fields(Settings):
    os.environ.pop(PREFIX + setting.name.upper(), None)

# A shell that runs the tests in its background has them ignore Ctrl-C, and so would every process of theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: to search it for garbage takes a quarter of the time of collecting it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def no_metrics_left() -> Iterator[None]:
    """What a test counted in this process is not the next one's."""
    yield
    started = sys.modules.get("fencepost.telemetry.metrics")
    if started is not None:
        started.stop_metrics()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack
