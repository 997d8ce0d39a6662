"""The first connection: what must be true of the server before anything hangs on it."""

from __future__ import annotations

import pymongo

from fencepost.clock import Clock
from fencepost.drivers.mongodb.address import read_url
from fencepost.drivers.mongodb.calls import in_time
from fencepost.drivers.mongodb.faults import translated_at_open
from fencepost.drivers.mongodb.opening import SELECTION_TIMEOUT_S, check, connect
from fencepost.leases.mongodb.leases import MongoLeases

OPEN_TIMEOUT_S = 4.0


async def open_leases(url: str, *, clock: Clock) -> MongoLeases:
    """Leases in the MongoDB server of this URL, once it has answered and is fit for them."""
    target = read_url(url)
    client = connect(target)
    leases = MongoLeases(client, target, clock)
    try:
        with translated_at_open(target), pymongo.timeout(SELECTION_TIMEOUT_S):
            await in_time(check(client, target), OPEN_TIMEOUT_S)
            await in_time(leases.probe(), OPEN_TIMEOUT_S)
    except BaseException:
        await leases.close()
        raise
    return leases
