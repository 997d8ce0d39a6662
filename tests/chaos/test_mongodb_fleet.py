"""Three schedulers and two workers on a replica set of three, under a nemesis: the primary is killed and told
to step down, processes are killed and stalled, ticks and orders go on. Then the checkers look.

It takes more than half a minute: the faults go on that long by the real clock, and then every run must have
ended.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.chaos import programme, report
from tests.chaos.campaign import Campaign
from tests.chaos.lease_places import MONGODB

MINUTES = 0.6
PATIENCE = 6.0
"""On a machine that is busy it takes longer until all of it has happened."""
SEED = 1

pytestmark = [pytest.mark.proof, pytest.mark.chaos, pytest.mark.mongodb, pytest.mark.timeout(600)]


async def test_no_promise_is_broken_while_the_primary_is_lost(tmp_path: Path) -> None:
    if why := programme.missing(MONGODB):
        pytest.skip(why)
    async with AsyncExitStack() as exits:
        campaign = Campaign(programme.on_mongodb(SEED), MINUTES, programme.MONGODB_FLOORS, tmp_path, PATIENCE)
        await campaign.run(exits)
        (result,) = await campaign.results()
    told = report.write(campaign, [result], SEED, tmp_path / "report")
    assert not list(result.faults), told
    assert not campaign.lacking, told
    assert result.history.acknowledged, told
    assert set(result.verdict.silent) == {"leases", "messages", "reports"}, told
