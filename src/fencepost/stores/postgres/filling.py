"""Filling a backfill in PostgreSQL: first decide for each fire time, then write all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING

from fencepost.model.audit import Action, Author
from fencepost.model.backfill import Backfill, FillMode, FillTick, runs_again
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.run import Origin, RunState
from fencepost.rules.desk_rows import logged_run
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.runs import QUERIES as RUNS
from fencepost.stores.postgres.writing import read_places, read_runs, send_again
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "backfills.sql")


@dataclass
class Filling:
    """One call's work on one backfill, under the locks of the schedule and of the backfill.

    `next_run_at` is when its next run is due; each that is written moves it on.
    """

    session: Session
    backfill: Backfill
    author: Author
    next_run_at: datetime
    frozen: bool
    fresh: dict[FillTick, datetime] = field(default_factory=dict)
    replayed: dict[RunKey, datetime] = field(default_factory=dict)
    restored: dict[RunKey, datetime] = field(default_factory=dict)
    left: Counter[tuple[int, datetime]] = field(default_factory=Counter)
    """How many ticks leave each missed range, which is known by its version and first fire time."""

    @property
    def _key(self) -> tuple[Namespace, ScheduleId]:
        return self.backfill.namespace, self.backfill.asked.schedule_id

    async def fill(self, ticks: Sequence[FillTick]) -> int:
        """Have these fire times run, those that the mode lets; returns how many do."""
        if not ticks:
            return 0
        there = await self._read_runs(ticks)
        ranges = await self._read_ranges(ticks)
        forgotten = await self._read_forgotten()
        for tick in ticks:
            if forgotten is None or tick.fire_time >= forgotten:
                self._decide(tick, there.get(tick.fire_time, {}), ranges)
        await self._insert()
        await self._send(self.replayed, Action.RUN_REPLAY)
        await self._send(self.restored, Action.RUN_RESTORE)
        await self._leave_ranges()
        return len(self.fresh) + len(self.replayed) + len(self.restored)

    async def _read_runs(self, ticks: Sequence[FillTick]) -> Mapping[datetime, Mapping[RunKey, RunState]]:
        """The runs of each fire time, that of the latest version last."""
        found: dict[datetime, dict[RunKey, RunState]] = {}
        fire_times = [tick.fire_time for tick in ticks]
        rows = await self.session.fetch(QUERIES["there"], *self._key, fire_times)
        for row in sorted(rows, key=itemgetter("version")):
            found.setdefault(row["fire_time"], {})[row["run_key"]] = RunState(row["state"])
        return found

    async def _read_ranges(self, ticks: Sequence[FillTick]) -> Sequence[Row]:
        fire_times = [tick.fire_time for tick in ticks]
        return await self.session.fetch(QUERIES["ranges"], *self._key, min(fire_times), max(fire_times))

    async def _read_forgotten(self) -> datetime | None:
        """Before this nobody can say what ran. Read after the runs: whatever removed one of them before they
        were read has left its mark by now."""
        if self.backfill.asked.mode is FillMode.ALL:
            return None
        forgotten: datetime | None = await self.session.fetchval(RUNS["forgotten_before"])
        return forgotten

    def _decide(self, tick: FillTick, there: Mapping[RunKey, RunState], ranges: Iterable[Row]) -> None:
        mode, key = self.backfill.asked.mode, tick_key(self._key[1], tick.fire_time, tick.version)
        counted = [(one, state) for one, state in there.items() if state is not RunState.WITHDRAWN]
        if counted:
            latest, state = counted[-1]
            if runs_again(mode, state):
                self.replayed[latest] = self._next_turn()
            return
        covering = [row for row in ranges if row["first_at"] <= tick.fire_time <= row["last_at"]]
        if covering:
            if mode is FillMode.MISSING:
                return
            self.left[covering[0]["version"], covering[0]["first_at"]] += 1
        if key in there:
            self.restored[key] = self._next_turn()
        else:
            self.fresh[tick] = self._next_turn()

    def _next_turn(self) -> datetime:
        turn = self.next_run_at
        self.next_run_at = turn + timedelta(seconds=self.backfill.asked.every_s)
        return turn

    async def _insert(self) -> None:
        if not self.fresh:
            return
        schedule_id = self.backfill.asked.schedule_id
        places = await read_places(self.session, *self._key, (tick.version for tick in self.fresh))
        await self.session.fetch(
            QUERIES["insert"],
            *self._key,
            self.frozen,
            self.backfill.backfill_id,
            [tick_key(schedule_id, tick.fire_time, tick.version) for tick in self.fresh],
            [places[tick.version].job for tick in self.fresh],
            [tick.fire_time for tick in self.fresh],
            [tick.version for tick in self.fresh],
            [places[tick.version].queue for tick in self.fresh],
            list(self.fresh.values()),
        )

    async def _send(self, due: Mapping[RunKey, datetime], action: Action) -> None:
        """Send runs that had ended on their way again, with an entry for each."""
        if not due:
            return
        namespace, keys = self.backfill.namespace, list(due)
        before = await read_runs(self.session, namespace, keys)
        await send_again(self.session, namespace, due, Origin.BACKFILL, self.backfill.backfill_id)
        after = await read_runs(self.session, namespace, keys)
        changes = [Change(key, logged_run(before[key]), logged_run(after[key])) for key in keys]
        await log(self.session, namespace, self.author, action, *changes)

    async def _leave_ranges(self) -> None:
        if self.left:
            versions = [version for version, _ in self.left]
            firsts = [first_at for _, first_at in self.left]
            counts = list(self.left.values())
            await self.session.fetch(QUERIES["leave_ranges"], *self._key, versions, firsts, counts)
