"""A fleet whose every execution and every acknowledgement is on a good disk, and its accounts at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from tests.chaos import effects_app, ledgers
from tests.chaos.effects_app import BOOK, FOLDER, SINK, TICKING
from tests.chaos.fleet import Member, eventually
from tests.chaos.ledgers import Ledger, PostgresLedger, SqliteLedger
from tests.chaos.orderer import Orderer
from tests.chaos.sinks import DurableLines, check_acknowledged, check_effects

TARGET = f"{effects_app.__name__}:app"
TICKS_S = 2
BACK_WITHIN_S = 60.0
STOP_S = 30.0
ENDED = "('succeeded', 'dead', 'skipped', 'missed', 'cancelled', 'withdrawn')"
DONE = "SELECT count(*) AS count FROM {0}runs WHERE state = 'succeeded' AND job = 'tick' AND fire_time > $1"
OPEN = f"SELECT count(*) AS count FROM {{0}}runs WHERE fire_time <= $1 AND state NOT IN {ENDED}"
STATES = "SELECT state, count(*) AS count FROM {0}runs WHERE fire_time <= $1 GROUP BY 1"


class EffectsFleet:
    """Processes over one store, and a client of theirs."""

    def __init__(self, url: str, folder: Path, open_ledger: Callable[[], Awaitable[Ledger]]) -> None:
        self.url = url
        self.folder = folder
        self.book, self.sink = DurableLines(folder / BOOK), DurableLines(folder / SINK)
        self.members: list[Member] = []
        self.orderer: Orderer | None = None
        self._open_ledger = open_ledger

    @classmethod
    def on_postgres(cls, url: str, folder: Path) -> EffectsFleet:
        return cls(url, folder, lambda: PostgresLedger.open(url))

    @classmethod
    def on_sqlite(cls, path: Path, folder: Path) -> EffectsFleet:
        async def open_ledger() -> Ledger:
            return SqliteLedger(path)

        return cls(f"sqlite:///{path}", folder, open_ledger)

    def start(self, *roles: str) -> None:
        for role in roles:
            number, drill = len(self.members), {FOLDER: str(self.folder)}
            self.members.append(Member(role, number, self.url, self.folder, TARGET, **drill))

    def start_ordering(self) -> Orderer:
        self.orderer = Orderer(self.url, self.folder)
        return self.orderer

    def freeze(self) -> None:
        """Whatever they are doing, they do no more of it."""
        for one in self._processes:
            one.freeze()

    def thaw(self) -> None:
        for one in self._processes:
            one.thaw()

    async def ticking(self, since: datetime, at_most_s: float = BACK_WITHIN_S) -> None:
        """Until ticks from after that moment have run, and the client is served."""
        orderer = self.orderer
        before = orderer.acknowledged if orderer else 0

        async def holds() -> bool:
            assert all(one.alive for one in self.members), f"a process has ended by itself\n{self.logs()}"
            served = orderer is None or orderer.acknowledged > before
            return served and await self.count(DONE, since) >= TICKS_S * TICKING

        await eventually(holds, "the fleet ticks and answers", at_most_s, self.logs)

    async def count(self, sql: str, *moments: datetime) -> int:
        async with self.ledger() as ledger:
            return int((await ledger.query(sql, *moments))[0]["count"])

    async def check(self) -> dict[str, int]:
        """Let the client finish and the fleet catch up; then all accounts, and how many runs ended how.

        Whoever is waited for is waited for in a thread: the line to the store may run on this loop."""
        if self.orderer is not None:
            await asyncio.to_thread(self.orderer.end)
            self.orderer = None
        until = ledgers.now()

        async def ended() -> bool:
            return await self.count(OPEN, until) == 0

        await self.ticking(until)
        await eventually(ended, "every run has ended", BACK_WITHIN_S, self.logs)
        for one in self.members:
            assert await asyncio.to_thread(one.end, STOP_S) == 0, one.log[-6_000:]
        async with self.ledger() as ledger:
            found = await ledgers.accounted(ledger, until)
            assert found.is_exact, found
            assert found.expected > TICKING
            await check_acknowledged(ledger, self.book.lines())
            assert await check_effects(ledger, self.sink.lines()) > 0
            return {row["state"]: row["count"] for row in await ledger.query(STATES, until)}

    @asynccontextmanager
    async def ledger(self) -> AsyncIterator[Ledger]:
        """A look of its own: what was connected before a fault may not be any more."""
        ledger = await self._open_ledger()
        try:
            yield ledger
        finally:
            await ledger.close()

    def close(self) -> None:
        """Have all of them gone, in whatever state they are."""
        for one in self._processes:
            one.discard()
        self.members, self.orderer = [], None

    def logs(self) -> str:
        return "".join(f"--- {one.name}\n{one.log[-4_000:]}\n" for one in self._processes)

    @property
    def _processes(self) -> Sequence[Member | Orderer]:
        return [*self.members, *([self.orderer] if self.orderer else [])]
