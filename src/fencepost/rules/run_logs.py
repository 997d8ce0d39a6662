"""The logs of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPage, LogPlace, LogSpot
from fencepost.model.table import Key, Range, Ranges
from fencepost.model.tables import RUN_LOGS, RUNS
from fencepost.ports.rows import Transaction
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.rows import columns_of, to_logged_chunk
from fencepost.rules.runs import is_of, keys_of

_IN_ORDER = RUN_LOGS.all


class RunLogRules(Part):
    """See `ports.run_logs`."""

    @writes
    async def append(self, tx: Transaction, pages: Sequence[LogPage]) -> Sequence[bool]:
        # A run that is in a transaction of its own is not waited for: its lines come with the next page.
        taken = await tx.take(keys_of([page.ticket for page in pages]))
        runs = {RUNS.key_of(run): run for run in taken}
        owned = [(run := runs.get(_owner(page))) is not None and is_of(run, page.ticket) for page in pages]
        mine = [page for page, is_mine in zip(pages, owned, strict=True) if is_mine]
        outdated = [
            _IN_ORDER(*_owner(page), page.ticket.attempt).after(page.kept_through).before(page.kept_from)
            for page in mine
            if page.kept_from > page.kept_through + 1
        ]
        await tx.delete(RUN_LOGS, await tx.take(Ranges(RUN_LOGS, tuple(outdated))))
        now = await tx.now()
        chunks = [
            {**columns_of(RUN_LOGS, page.ticket), **columns_of(RUN_LOGS, chunk), "at": now}
            for page in mine
            for chunk in page.chunks
        ]
        await tx.put_if_absent(RUN_LOGS, chunks)
        return owned

    @reads
    async def read(
        self,
        tx: Transaction,
        namespace: Namespace,
        run_key: RunKey,
        *,
        attempt: int | None = None,
        after: LogPlace = LOG_BEGIN,
        limit: int,
    ) -> Sequence[LoggedChunk]:
        if attempt is not None and attempt < after.attempt:
            return []
        found = _of(namespace, run_key, attempt)
        if attempt is None:
            found = found.after(after.attempt, after.number)
        elif attempt == after.attempt:
            found = found.after(after.number)
        return [to_logged_chunk(row) for row in await tx.find(found, limit=limit)]

    @reads
    async def tail(
        self,
        tx: Transaction,
        namespace: Namespace,
        run_key: RunKey,
        *,
        attempt: int | None = None,
        limit: int,
    ) -> Sequence[LoggedChunk]:
        rows = await tx.find(_of(namespace, run_key, attempt), limit=limit, reverse=True)
        return [to_logged_chunk(row) for row in reversed(rows)]

    @reads
    async def read_on(
        self, tx: Transaction, spots: Sequence[LogSpot], limit: int
    ) -> Sequence[Sequence[LoggedChunk]]:
        ranges = tuple(
            _IN_ORDER(one.namespace, one.run_key).after(one.place.attempt, one.place.number) for one in spots
        )
        found: dict[tuple[str, str], dict[tuple[int, int], LoggedChunk]] = {}
        for row in await tx.find(Ranges(RUN_LOGS, ranges), limit=limit):
            of_run = found.setdefault((row["namespace"], row["run_key"]), {})
            of_run[row["attempt"], row["number"]] = to_logged_chunk(row)
        return [_beyond(one, found.get((one.namespace, one.run_key), {}))[:limit] for one in spots]


def _beyond(spot: LogSpot, chunks: Mapping[tuple[int, int], LoggedChunk]) -> list[LoggedChunk]:
    """What comes after the spot, in order."""
    read = spot.place.attempt, spot.place.number
    return [chunk for place, chunk in sorted(chunks.items(), key=itemgetter(0)) if place > read]


def _owner(page: LogPage) -> Key:
    return page.ticket.namespace, page.ticket.run_key


def _of(namespace: Namespace, run_key: RunKey, attempt: int | None) -> Range:
    return _IN_ORDER(namespace, run_key) if attempt is None else _IN_ORDER(namespace, run_key, attempt)
