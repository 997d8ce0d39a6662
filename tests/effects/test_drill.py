"""Effects happen once, whatever happens to the workers: see `drill`.

Each takes long: real workers do thousands of runs. Some workers are killed, and some are stalled for longer
than the heartbeat timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.effects import programme
from tests.effects.drill import Drill, Plan
from tests.servers.fixtures import started
from tests.servers.postgres import PostgresServer

pytestmark = [pytest.mark.proof, pytest.mark.chaos]

TRIES_MAX = 4


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """With room for the pools of every driver in every worker."""
    with started(lambda: PostgresServer(max_connections="300")) as server:
        yield server


@pytest.mark.postgres
@pytest.mark.timeout(5_000)
async def test_no_effect_is_lost_or_doubled_on_postgres(server: PostgresServer, tmp_path: Path) -> None:
    await _play(server.create_empty_database, tmp_path, programme.on_postgres())


@pytest.mark.postgres
@pytest.mark.timeout(3_000)
async def test_nothing_starts_twice_at_most_once_and_no_straggler_passes_a_fence(
    server: PostgresServer, tmp_path: Path
) -> None:
    await _play(server.create_empty_database, tmp_path, programme.without_transactions())


@pytest.mark.timeout(3_000)
async def test_no_effect_is_lost_or_doubled_on_sqlite(tmp_path: Path) -> None:
    files = (f"sqlite:///{tmp_path / f'ledger-{number}.db'}" for number in count())
    await _play(lambda: next(files), tmp_path, programme.on_sqlite())


async def _play(new_store: Callable[[], str], folder: Path, plan: Plan) -> None:
    """Nothing may ever be wrong. Whether a stall meets a transaction is chance: where none did, once more."""
    idle: list[str] = []
    for number in range(TRIES_MAX):
        place = folder / str(number)
        place.mkdir()
        found = await Drill(new_store(), place, replace(plan, seed=plan.seed + number)).play()
        assert not found.faults, found
        idle = programme.idle(plan, found)
        if not idle:
            return
    raise AssertionError(f"{TRIES_MAX} times: {idle}")
