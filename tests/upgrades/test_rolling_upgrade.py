"""A live fleet is rolled from an older version to this one, and back, and no tick is lost or doubled."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.postgres import PostgresServer
from tests.upgrades import drill

ROLLED = "dd0a6609"
"""The first revision from which a fleet is rolled: its schema has the names of the first release."""
OLDER_SCHEMA = "7d7800ed"
"""A revision from before that, whose schema is 17."""

pytestmark = [pytest.mark.proof, pytest.mark.postgres, pytest.mark.timeout(900)]


@pytest.fixture
def url() -> Iterator[str]:
    server = PostgresServer()
    yield server.create_empty_database()
    server.close()


def is_known(revision: str) -> bool:
    asked = ["git", "cat-file", "-e", f"{revision}^{{commit}}"]
    return subprocess.run(asked, cwd=drill.ROOT, check=False, capture_output=True).returncode == 0


async def roll(
    url: str, folder: Path, revision: str, *, back: bool = False, stopped: bool = False
) -> drill.Outcome:
    if not is_known(revision):
        pytest.skip(f"git does not have {revision}; run: git fetch --unshallow")
    return await drill.run(url, folder, revision, back=back, stopped=stopped)


async def test_no_tick_is_lost_or_doubled_while_a_fleet_is_upgraded_and_downgraded(
    url: str, tmp_path: Path
) -> None:
    """Takes long: four processes are replaced one by one, three times, with ticks in between."""
    outcome = await roll(url, tmp_path, ROLLED, back=True)
    assert outcome.is_sound, outcome


async def test_no_tick_is_lost_or_doubled_while_an_older_fleet_is_stopped_and_its_schema_migrated(
    url: str, tmp_path: Path
) -> None:
    """Takes long: four processes are stopped, and four others catch up with the ticks of the time between."""
    outcome = await roll(url, tmp_path, OLDER_SCHEMA, stopped=True)
    assert outcome.schema_before < outcome.schema_after
    assert outcome.is_sound, outcome
