"""Copying a ledger: every row of one store into another, while no process works on either.

*What.* All tables that are declared, as they are: schedules with their versions and cursors, runs of every
state, attempts, steps and logs, calendars, gates, freezes, limits, backfills, access, leases and epochs, and
the audit log. Ended runs are copied too: only its row protects the key of a run by hand.

*Fences.* The target goes on above the source and begins its next incarnation, lifted as after a restored
backup. So no fence comes twice, also where a process is started on the source again by mistake.

*Failure.* From the first row to the last the target has a schema number that no release opens. After a copy
that did not come to its end the same call begins anew: it first removes what is there.

*A source that changes.* The rows are read a page at a time. The work of a fleet shows in the number of rows
of a table, in the number of runs that are running and that have ended, in the fences or in the epochs. Those
are
compared at the end, and a copy of something that changed is not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from fencepost.errors import UsageError
from fencepost.model.audit import Author
from fencepost.model.dataclasses import dataclass
from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import Namespace
from fencepost.model.table import Range, Row, Table
from fencepost.model.tables import META, RUNS_ENDED, RUNS_RUNNING, TABLES, UNFINISHED
from fencepost.ports.rows import Transaction
from fencepost.ports.store import Store

PAGE, PAGE_BYTES = 250, 4_000_000
"""How many rows are read and written at a time, and from how many bytes on no more are read."""
STEP = 50
"""How many rows are read before they are measured; one has at most a quarter of a megabyte."""
NAMES_MAX = 5
OWN = frozenset({"schema", "shards", "incarnation"})
"""Keys of a new store's own `META`."""
LEDGER = tuple(table for table in TABLES if table is not META)


@dataclass(frozen=True)
class Seen:
    """How a store stands: how far it has come, how many rows each table has, and how many runs are running or
    have ended."""

    high_water: HighWater
    rows: Mapping[str, int]
    running: int
    ended: int

    @property
    def total(self) -> int:
        return sum(self.rows.values())


async def look(store: Store) -> Seen:
    """The state of a source. Raises where a process still works on it."""
    if live := await store.nodes.live():
        names = _listed([one.node.node_id for one in live])
        longest_s = max(one.alive_for_s for one in live)
        raise UsageError(
            f"source: {names} {'are' if len(live) > 1 else 'is'} alive; stop every process of this store, "
            f"then copy (one that was killed counts for another {longest_s:.0f} s)"
        )
    high_water = await store.epochs.high_water()
    if high_water.older is not None:
        raise UsageError(
            f"source: it was restored from a backup: {high_water.older}; "
            "first run on it: fencepost migrate --restored"
        )
    rows = {table.name: await _count(store, table.all()) for table in LEDGER}
    return Seen(high_water, rows, await _count(store, RUNS_RUNNING()), await _count(store, RUNS_ENDED()))


class Copier:
    """Copies one store, as it was seen, into another."""

    def __init__(self, source: Store, seen: Seen, target: Store) -> None:
        self._source = source
        self._seen = seen
        self._target = target

    async def check(self) -> None:
        """Raises where the target has anything other than part of a copy."""
        if int((await self._target.rows.read(_about))["schema"]) > UNFINISHED:
            return
        used = await _used(self._target)
        same = self._seen.high_water.incarnation == (await self._target.epochs.high_water()).incarnation
        if used and same:
            raise UsageError("target: it is the same store as the source; name another one")
        if used:
            raise UsageError(
                f"target: it is not empty, it has {_listed(used)}; name a store that is new: "
                "one that fencepost migrate has set up, and that nothing has used"
            )

    async def copy(self, namespace: Namespace, author: Author, reached: Callable[[int], None]) -> HighWater:
        """Copy everything; returns where the target's fences go on. `reached` gets the number of copied
        rows."""
        await self._target.rows.write(partial(_mark, UNFINISHED))
        for table in TABLES:
            while await self._target.rows.write(partial(_remove, table)):
                pass
        done = 0
        for table in LEDGER:
            done = await self._copy_table(table, done, reached)
        await self._check_unchanged()
        about = await self._source.rows.read(_about)
        await self._target.rows.write(partial(_take_over, about, self._seen.high_water.fence))
        lifted = await self._target.epochs.restore(namespace, author)
        await self._target.rows.write(partial(_mark, 0))
        return lifted

    async def _copy_table(self, table: Table, done: int, reached: Callable[[int], None]) -> int:
        rest = table.all()
        while page := await self._source.rows.read(partial(_page, rest)):
            if await self._target.rows.write(partial(_put, table, page)) != len(page):
                raise UsageError("target: something else writes to it; stop that, and copy again")
            done += len(page)
            reached(done)
            rest = table.all().after(*table.key_of(page[-1]))
        return done

    async def _check_unchanged(self) -> None:
        if await look(self._source) != self._seen:
            raise UsageError(
                "source: it changed while it was copied; stop every process that writes to it, and copy again"
            )


async def _count(store: Store, rows: Range, limit: int | None = None) -> int:
    (number,) = await store.rows.read(lambda tx: tx.count([rows], limit=limit))
    return number


async def _used(store: Store) -> list[str]:
    """What a store has that a new one does not have."""
    found = [table.name for table in LEDGER if await _count(store, table.all(), limit=1)]
    return found + sorted((await store.rows.read(_about)).keys() - OWN)


async def _about(tx: Transaction) -> dict[str, str]:
    return {row["name"]: row["value"] for row in await tx.find(META.all())}


async def _page(rest: Range, tx: Transaction) -> list[Row]:
    page: list[Row] = []
    size = 0
    while len(page) < PAGE and size < PAGE_BYTES and (more := await tx.find(rest, limit=STEP)):
        page += more
        size += sum(map(_size, more))
        rest = rest.table.all().after(*rest.table.key_of(more[-1]))
    return page


def _size(row: Row) -> int:
    texts = (one.encode() if isinstance(one, str) else one for one in row.values())
    return sum(len(one) for one in texts if isinstance(one, bytes))


async def _put(table: Table, page: list[Row], tx: Transaction) -> int:
    return len(await tx.put_if_absent(table, page))


async def _remove(table: Table, tx: Transaction) -> int:
    """Remove some rows of a table; of `META` only the rows that are not the store's own."""
    page = await _page(table.all(), tx)
    found = await tx.lock(table.among(map(table.key_of, page)))
    gone = [row for row in found if table is not META or row["name"] not in OWN]
    await tx.delete(table, gone)
    return len(gone)


async def _mark(unfinished: int, tx: Transaction) -> None:
    (known,) = await tx.lock(META.at("schema"))
    schema = int(known["value"]) % UNFINISHED + unfinished
    await tx.change(META, [(known, {"value": str(schema)})])


async def _take_over(about: Mapping[str, str], fence: int, tx: Transaction) -> None:
    """Take over the source's `META`, and go on above its fences."""
    values = {name: value for name, value in about.items() if name != "schema"}
    known = await tx.lock(META.among((name,) for name in values))
    await tx.change(META, [(row, {"value": values.pop(row["name"])}) for row in known])
    await tx.put_if_absent(META, [{"name": name, "value": value} for name, value in values.items()])
    (last,) = await tx.fences(0)
    await tx.fences(max(fence - last, 0))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more
