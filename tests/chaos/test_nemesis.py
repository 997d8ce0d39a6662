"""The short mix of the long chaos run: one fleet on PostgreSQL and one on a file, under a nemesis.

What must have happened is asserted as well as what must not: a run in which nothing was refused and nobody
was rescued proves nothing.

It takes more than half a minute: the faults go on that long by the real clock, and then every run must have
ended.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.chaos import programme, report
from tests.chaos.campaign import Campaign
from tests.servers.binaries import ServerMissing, binaries

MINUTES = 0.6
PATIENCE = 6.0
"""On a machine that is busy it takes longer until all of it has happened."""
SEED = 1

pytestmark = [pytest.mark.proof, pytest.mark.chaos, pytest.mark.postgres, pytest.mark.timeout(400)]


async def test_no_promise_is_broken_by_a_short_mix_of_everything(tmp_path: Path) -> None:
    try:
        binaries()
    except ServerMissing as missing:
        pytest.skip(str(missing))
    async with AsyncExitStack() as exits:
        campaign = Campaign(programme.short(SEED), MINUTES, programme.SHORT_FLOORS, tmp_path, PATIENCE)
        await campaign.run(exits)
        results = await campaign.results()
    told = report.write(campaign, results, SEED, tmp_path / "report")
    assert not [fault for result in results for fault in result.faults], told
    assert not campaign.lacking, told
    for result in results:
        assert result.history.acknowledged, told
        assert set(result.verdict.silent) == {"leases", "messages", "reports"}, told
        assert not result.verdict.idle, told
