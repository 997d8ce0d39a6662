"""The database server is lost again and again, under a fleet that is never restarted.

A primary with a synchronous standby: the primary is killed, the standby promoted. Every process finds its
way by itself; at the end every tick has one row, nothing acknowledged is lost, and the world saw no effect
that the ledger does not know of.

It takes long: two servers and five processes start. Twice a standby is promoted and another one made, and
the fleet must tick again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fencepost.stores.postgres import migrate
from tests.chaos import ledgers
from tests.chaos.effects_fleet import EffectsFleet
from tests.servers.postgres_pair import PostgresPair

FAILOVERS = 2
SHARDS = 4
SUCCEEDED_MIN = 0.9

pytestmark = [pytest.mark.proof, pytest.mark.chaos, pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture
async def pair() -> AsyncIterator[PostgresPair]:
    pair = await PostgresPair.open()
    yield pair
    await pair.close()


@pytest.fixture
def fleet(pair: PostgresPair, tmp_path: Path) -> Iterator[EffectsFleet]:
    fleet = EffectsFleet.on_postgres(pair.url, tmp_path)
    yield fleet
    fleet.close()


async def test_no_tick_and_no_acknowledged_order_is_lost_with_the_primary(
    pair: PostgresPair, fleet: EffectsFleet
) -> None:
    await migrate(pair.url, shards=SHARDS)
    began = ledgers.now()
    fleet.start("scheduler", "scheduler", "worker", "worker")
    fleet.start_ordering()
    await fleet.ticking(began)
    for _ in range(FAILOVERS):
        await pair.fail_over()
        await fleet.ticking(ledgers.now())
    states = await fleet.check()
    assert set(states) <= {"succeeded", "missed"}, states
    assert states["succeeded"] >= SUCCEEDED_MIN * sum(states.values()), states
