"""`fencepost restore-check` on a store whose leases are ahead of its ledger, as where backups were mixed."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Granted
from tests.cli.calls import call, called
from tests.cli.test_status import opened

ALICE = NodeId("alice")
LEASED = "older: the lease of shard 3 was granted under epoch 1, and the ledger knows 0"


async def lease(url: str, *, is_released: bool) -> None:
    """A lease that the ledger never heard of."""
    async with opened(url) as store:
        answers = await store.leases.acquire([Shard(3)], ALICE, 60)
        granted = {shard: one.epoch for shard, one in answers.items() if isinstance(one, Granted)}
        if is_released:
            await store.leases.release(granted, ALICE)


@pytest.mark.parametrize("is_released", [False, True])
def test_a_lease_that_the_ledger_does_not_know_is_told_whether_it_is_held_or_free(
    is_released: bool, url: str
) -> None:
    called("migrate", "--store", url)
    assert "nothing tells that it is older" in called("restore-check", "--store", url)
    asyncio.run(lease(url, is_released=is_released))
    result = call("restore-check", "--store", url)
    assert result.exit_code == 1
    assert LEASED in result.stdout
    assert "run: fencepost migrate --restored" in result.stdout
