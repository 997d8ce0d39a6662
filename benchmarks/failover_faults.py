"""What befalls a leader, and how long it takes until the ledger names another."""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import Awaitable, Callable, Mapping

from benchmarks.failover_report import KILL, PARTITION, STALL, STOP
from tests.chaos.lease_fleet import LeaseFleet, Scheduler
from tests.chaos.ledgers import Leader

PATIENCE_S = 20.0
ENDED_S = 30.0

Fault = Callable[[LeaseFleet], Awaitable[float]]


async def stop(fleet: LeaseFleet) -> float:
    """Asked to stop."""
    return await _ended_by(fleet, signal.SIGTERM)


async def kill(fleet: LeaseFleet) -> float:
    """Killed without a word."""
    return await _ended_by(fleet, signal.SIGKILL)


async def stall(fleet: LeaseFleet) -> float:
    """Stopped in its tracks, and continued once another leads."""
    leader, before = await fleet.leader(), await fleet.registered()
    try:
        return await _handed_over(fleet, before, await fleet.stall(leader))
    finally:
        leader.process.thaw()


async def partition(fleet: LeaseFleet) -> float:
    """Cut off from the lease store, and joined again once another leads."""
    leader, before = await fleet.leader(), await fleet.registered()
    assert leader.to_leases is not None
    try:
        cut_at = asyncio.get_running_loop().time()
        leader.to_leases.cut()
        return await _handed_over(fleet, before, cut_at)
    finally:
        leader.to_leases.heal()


FAULTS: Mapping[str, Fault] = {STOP: stop, KILL: kill, STALL: stall, PARTITION: partition}


async def _ended_by(fleet: LeaseFleet, number: signal.Signals) -> float:
    leader, before = await fleet.leader(), await fleet.registered()
    sent_at = asyncio.get_running_loop().time()
    leader.process.send(number)
    try:
        return await _handed_over(fleet, before, sent_at)
    finally:
        await _replace(fleet, leader)


async def _handed_over(fleet: LeaseFleet, before: Leader, since: float) -> float:
    """Seconds until somebody else is registered; infinite where nobody is."""
    try:
        await fleet.successor(before, PATIENCE_S)
    except AssertionError:
        return math.inf
    return asyncio.get_running_loop().time() - since


async def _replace(fleet: LeaseFleet, gone: Scheduler) -> None:
    await asyncio.to_thread(gone.process.ended, ENDED_S)
    await fleet.retire(gone)
    await fleet.start_scheduler()
