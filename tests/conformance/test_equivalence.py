"""Random lives of a store, lived twice.

The store in memory is short enough to be believed; a real store must give the same answers to the same
calls, and look the same after each. Where the ports leave something open (who comes first of two runs of
the same priority and time) the lives keep away from it: no two calls happen at the same instant.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from fencepost.testing.conformance.harness import StoreHarness
from tests.conformance.clocked import open_memory
from tests.conformance.on_postgres import open_postgres
from tests.conformance.on_sqlite import open_sqlite
from tests.conformance.operating_lives import OperatingLives
from tests.conformance.twins import Twins

LIVES = int(os.environ.get("FENCEPOST_LIVES", "6"))
SETTINGS = settings(
    derandomize=True,
    print_blob=True,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    max_examples=LIVES,
    stateful_step_count=50,
    suppress_health_check=list(HealthCheck),
)

# A life that differs is first made as short as it can be, which takes minutes.
pytestmark = pytest.mark.timeout(900)


class Subject(StoreHarness, Protocol):
    """A store to compare, and its end."""

    async def close(self) -> None: ...


def live(open_subject: Callable[[], Coroutine[Any, Any, Subject]]) -> None:
    """Play lives on stores in memory and on those that the function opens, an empty one each time."""

    class Lives(OperatingLives):
        def __init__(self) -> None:
            super().__init__()
            self.runner = asyncio.Runner()
            self.subject = self.runner.run(open_subject())
            reference = open_memory(self.subject.shards)
            self.twins = Twins(self.runner, reference, self.subject)

        def teardown(self) -> None:
            self.runner.run(self.subject.close())
            self.runner.close()

    run_state_machine_as_test(Lives, settings=SETTINGS)


def test_sqlite_does_not_differ_from_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """About 15 s: six lives of fifty steps, everything read after each step."""

    def new_path() -> Path:
        return tmp_path_factory.mktemp("life") / "fencepost.db"

    live(lambda: open_sqlite(new_path()))


@pytest.mark.postgres
def test_postgres_does_not_differ_from_memory(shared_postgres_url: str) -> None:
    """About 20 s: six lives of fifty steps, everything read after each step."""
    live(lambda: open_postgres(shared_postgres_url))
