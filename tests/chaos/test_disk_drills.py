"""A node on SQLite whose disk loses its power, runs full, or fails to write.

Whatever the disk does: what was acknowledged is there, every tick has one row, and a node that could not
write goes on by itself when it can.

Each takes long: real nodes start and tick, wait longer and longer before they try a failed disk again, and
every tick must have ended before the ledger is checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from fencepost.stores.sqlite import migrate
from tests.chaos import ledgers
from tests.chaos.accounting import account
from tests.chaos.effects_fleet import EffectsFleet
from tests.chaos.fleet import eventually
from tests.chaos.ledgers import VERSIONS, Ledger
from tests.chaos.sinks import check_acknowledged, check_effects
from tests.servers.disks import MIB, DiskMissing, FailingFlushes, fill, loop_disk, small_disk

FILE = "fencepost.db"
SHARDS = 2
CUTS = 4
ORDERS_BETWEEN = 25
ROOM_BYTES = 48 * MIB
FULL_S = 6.0
COMPLAINTS_MAX = 100
"""A service waits longer and longer, up to five seconds."""
FAILING = "5+3"
"""From the fifth call of each thread on, every third fails."""
FAILED_MIN = 5
NOTICED_S = 60.0
UNAVAILABLE = "store unavailable"

CURSORS = "SELECT schedule_id, planned_through FROM {0}cursors"
TICKS = "SELECT schedule_id, fire_time FROM {0}runs WHERE schedule_id IS NOT NULL"

T = TypeVar("T")

pytestmark = [pytest.mark.proof, pytest.mark.chaos, pytest.mark.timeout(300)]


@pytest.fixture
def exits() -> Iterator[ExitStack]:
    """Whatever a drill has opened is closed at its end, the last first."""
    with ExitStack() as exits:
        yield exits


async def test_no_power_cut_loses_what_was_acknowledged(exits: ExitStack, tmp_path: Path) -> None:
    disk = _disk(exits, loop_disk)
    fleet = await _fleet(exits, disk.folder, tmp_path)
    began = ledgers.now()
    fleet.start("run")
    orderer = fleet.start_ordering()
    await fleet.ticking(began)
    for cut in range(CUTS):
        await _more_orders(fleet, orderer.acknowledged + ORDERS_BETWEEN)
        fleet.freeze()
        copy = disk.cut_power(tmp_path / f"cut-{cut}")
        with loop_disk(copy) as found:
            await _check_cut(EffectsFleet.on_sqlite(found.folder / FILE, tmp_path))
        if cut < CUTS - 1:
            copy.unlink()
            fleet.thaw()
    fleet.close()

    after = _disk(exits, lambda: loop_disk(tmp_path / f"cut-{CUTS - 1}"))
    successor = await _fleet(exits, after.folder, tmp_path)
    successor.start("run")
    states = await successor.check()
    assert set(states) <= {"succeeded", "missed"}, states


async def test_a_full_disk_stops_a_node_only_until_there_is_room_again(
    exits: ExitStack, tmp_path: Path
) -> None:
    folder = _disk(exits, lambda: small_disk(ROOM_BYTES))
    fleet = await _fleet(exits, folder, tmp_path)
    began = ledgers.now()
    fleet.start("run")
    fleet.start_ordering()
    await fleet.ticking(began)
    ballast = fill(folder)
    (node,) = fleet.members

    async def noticed() -> bool:
        return bool(node.told(UNAVAILABLE))

    await eventually(noticed, "the node says that it cannot write", NOTICED_S, fleet.logs)
    await asyncio.sleep(FULL_S)
    complaints = node.told(UNAVAILABLE)
    ballast.unlink()
    await fleet.ticking(ledgers.now())
    assert f"store {folder / FILE}: database or disk is full" in {one["error"] for one in complaints}
    assert len(complaints) <= COMPLAINTS_MAX
    assert "Traceback" not in node.log + fleet.logs()
    states = await fleet.check()
    assert set(states) <= {"succeeded", "missed"}, states


async def test_nothing_is_acknowledged_that_the_disk_failed_to_keep(exits: ExitStack, tmp_path: Path) -> None:
    fleet = await _fleet(exits, tmp_path, tmp_path)
    began = ledgers.now()
    fleet.start("run")
    orderer = fleet.start_ordering()
    await fleet.ticking(began)
    files = [tmp_path / FILE, tmp_path / f"{FILE}-wal"]
    pids = [orderer.pid, *(one.pid for one in fleet.members)]
    with _had(lambda: closing(FailingFlushes(pids, files, FAILING, tmp_path))) as disk:

        async def failed() -> bool:
            return disk.failed >= FAILED_MIN and bool(fleet.members[0].told(UNAVAILABLE))

        await eventually(failed, "the disk fails to keep what was written", NOTICED_S, fleet.logs)
        await _more_orders(fleet, orderer.acknowledged + ORDERS_BETWEEN)
    await fleet.ticking(ledgers.now())
    complaints = {one["error"] for one in fleet.members[0].told(UNAVAILABLE)}
    assert f"store {tmp_path / FILE}: disk I/O error" in complaints
    states = await fleet.check()
    assert set(states) <= {"succeeded", "missed"}, states


async def _check_cut(found: EffectsFleet) -> None:
    """The file is whole, what was acknowledged is in it, and so is every tick up to where it was planned."""
    async with found.ledger() as ledger:
        (row,) = await ledger.query("PRAGMA integrity_check")
        assert row["integrity_check"] == "ok"
        assert await check_acknowledged(ledger, found.book.lines()) > 0
        await check_effects(ledger, found.sink.lines())
        await _check_planned(ledger)


async def _check_planned(ledger: Ledger) -> None:
    """Of each schedule by itself: one that was just added is not planned as far as the others."""
    through = {row["schedule_id"]: row["planned_through"] for row in await ledger.query(CURSORS)}
    ticks = await ledger.query(TICKS)
    for version in await ledger.query(VERSIONS):
        schedule = version["schedule_id"]
        found = account(
            [version], [one for one in ticks if one["schedule_id"] == schedule], through[schedule]
        )
        assert found.is_exact, found


async def _more_orders(fleet: EffectsFleet, at_least: int) -> None:
    orderer = fleet.orderer
    assert orderer is not None

    async def holds() -> bool:
        return orderer.acknowledged >= at_least

    await eventually(holds, f"{at_least} orders are acknowledged", NOTICED_S, fleet.logs)


async def _fleet(exits: ExitStack, folder: Path, drill: Path) -> EffectsFleet:
    """On a file in that folder, which is made where it is not there yet."""
    await migrate(f"sqlite:///{folder / FILE}", shards=SHARDS)
    fleet = EffectsFleet.on_sqlite(folder / FILE, drill)
    exits.callback(fleet.close)
    return fleet


def _disk(exits: ExitStack, make: Callable[[], AbstractContextManager[T]]) -> T:
    return exits.enter_context(_had(make))


@contextmanager
def _had(make: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """Such a disk; where there is none to be had, the test is skipped and says why."""
    try:
        with make() as disk:
            yield disk
    except DiskMissing as missing:
        pytest.skip(str(missing))
