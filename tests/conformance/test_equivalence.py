"""Random lives of a store, lived twice.

The store in memory is short enough to be believed; a real store must give the same answers to the same
calls, and look the same after each. Where the ports leave something open (who comes first of two runs of
the same priority and time) the lives keep away from it: no two calls happen at the same instant.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from fencepost.testing.conformance.harness import StoreHarness
from tests.conformance.answering_lives import AnsweringLives
from tests.conformance.clocked import open_memory
from tests.conformance.moves import watch_postgres, watch_sqlite
from tests.conformance.on_mongodb import open_mongodb
from tests.conformance.on_postgres import open_postgres
from tests.conformance.on_sqlite import open_sqlite
from tests.conformance.operating_lives import OperatingLives
from tests.conformance.twins import TiedTwin, Twin, Twins

LIVES = int(os.environ.get("FENCEPOST_TEST_LIVES", "2"))
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
# To make a long life short takes longer than to read it.
FEW = settings(SETTINGS, max_examples=2, print_blob=False, phases=(Phase.generate,))
MANY = settings(FEW, max_examples=25)

# A life that differs is first made as short as it can be, which takes minutes.
pytestmark = pytest.mark.timeout(900)


class Subject(StoreHarness, Protocol):
    """A store to compare, and its end."""

    async def close(self) -> None: ...


Open = Callable[[], Coroutine[Any, Any, Subject]]


def live(
    open_subject: Open,
    kind: type[OperatingLives] = OperatingLives,
    twin: type[Twin] = Twin,
    how: settings = SETTINGS,
) -> None:
    """Play lives on stores in memory and on those that the function opens, an empty one each time."""

    class Lives(kind):  # type: ignore[valid-type, misc]
        def __init__(self) -> None:
            super().__init__()
            self.runner = asyncio.Runner()
            self.subject = self.runner.run(open_subject())
            reference = open_memory(self.subject.shards)
            self.twins = Twins(self.runner, reference, self.subject, twin)

        def teardown(self) -> None:
            try:
                if sys.exc_info()[0] is None:
                    self.ask()
            finally:
                self.runner.run(self.subject.close())
                self.runner.close()

    run_state_machine_as_test(Lives, settings=how)


@pytest.fixture
def open_file(tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Opens a store in a file of its own each time."""
    return lambda: open_sqlite(tmp_path_factory.mktemp("life") / "fencepost.db")


def test_sqlite_does_not_differ_from_memory(open_file: Open) -> None:
    """About 8 s: two lives of fifty steps, everything read after each step."""
    live(open_file)


def test_sqlite_does_not_answer_otherwise_than_the_rules(open_file: Open) -> None:
    live(open_file, AnsweringLives, TiedTwin, FEW)


@pytest.mark.proof
def test_sqlite_does_not_answer_otherwise_than_the_rules_in_many_lives(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """About 60 s: 25 lives, and some hundred questions after each. All moves of runs are in the table."""

    def open_watched() -> Coroutine[Any, Any, Subject]:
        return watch_sqlite(tmp_path_factory.mktemp("life") / "fencepost.db")

    live(open_watched, AnsweringLives, TiedTwin, MANY)


@pytest.mark.postgres
def test_postgres_does_not_differ_from_memory(shared_postgres_url: str) -> None:
    """About 10 s: two lives of fifty steps, everything read after each step."""
    live(lambda: open_postgres(shared_postgres_url))


@pytest.mark.postgres
def test_postgres_does_not_answer_otherwise_than_the_rules(shared_postgres_url: str) -> None:
    live(lambda: open_postgres(shared_postgres_url), AnsweringLives, TiedTwin, FEW)


@pytest.mark.postgres
@pytest.mark.proof
def test_postgres_does_not_answer_otherwise_than_the_rules_in_many_lives(postgres_url: str) -> None:
    """About 60 s: 25 lives, and some hundred questions after each. All moves of runs are in the table."""
    live(lambda: watch_postgres(postgres_url), AnsweringLives, TiedTwin, MANY)


@pytest.mark.proof
def test_mongodb_does_not_differ_from_memory(mongo_store_url: str) -> None:
    """About a minute: two lives of fifty steps, everything read after each step."""
    live(lambda: open_mongodb(mongo_store_url))


@pytest.mark.proof
def test_mongodb_does_not_answer_otherwise_than_the_rules(mongo_store_url: str) -> None:
    """About 20 s: two lives, and some hundred questions after each."""
    live(lambda: open_mongodb(mongo_store_url), AnsweringLives, TiedTwin, FEW)
