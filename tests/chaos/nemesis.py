"""The nemesis: does to a fleet what the world does, in an order that a seed decides.

Each kind of action is a card. A deck holds each kind as often as it should come among the others; it is
shuffled, played to its end, and shuffled again. Several hands may play at once on one fleet: a process to
which something happens is left alone by the others, and only one hand at a time touches a store. An action
that finds nobody to act upon is no action. What was done is a fault in the records of the fleet.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from random import Random

from tests.chaos import ledgers, nemesis_app
from tests.chaos.fleet import eventually
from tests.chaos.grounds import FAILOVER, LEASE_RESTART, LEASE_WIPE, STORE_RESTART
from tests.chaos.stage import LEAP, SCHEDULER, SETTINGS, STALE_WRITE, WORKER, Slot, Stage
from tests.history.model import Fault
from tests.servers.proxy import Proxy

KILL, MASSACRE = "kill", "kill of all of a role"
STALL, STALL_IN_WRITE = "stall", "stall in mid-write"
PARTITION, ONE_WAY = "partition", "partition one way"
RESET, LOST_ANSWER = "reset", "lost answer"
CLOCK_JUMP = "clock jump"

TRAP_S = 6.0
PLAN_BYTES = 500
"""A planning write for a second of a few schedules; a scheduler sends little else that names ticks."""
STALL_S = max(SETTINGS.lease_ttl_s, SETTINGS.heartbeat_timeout_s + SETTINGS.reap_every_s) + 0.5
SUCCESSION_S = 3 * SETTINGS.lease_ttl_s
REFUSED_S = 5.0
STALL_TRIES_MAX = 50
CUT_S = (1.5, 6.0)
AWAY_S = (0.0, 0.0, 0.5, 3.0)
LEAPS = (1, -1, 3)
LOST_S = 3.0

Action = Callable[["Nemesis"], Awaitable[None]]


class Nemesis:
    """One fleet's. `pause_s` is how long a hand rests between two actions."""

    def __init__(self, stage: Stage, deck: Mapping[str, int], seed: int, pause_s: float = 1.0) -> None:
        self.stage = stage
        self.dice = Random(seed)
        self._shuffler = Random(seed)
        self.counts: Counter[str] = Counter()
        self._cards = [kind for kind, count in sorted(deck.items()) for _ in range(count)]
        self._deck: list[str] = []
        self._pause_s = pause_s
        self._store_turn = asyncio.Lock()

    async def play(self, is_over: Callable[[], bool], hands: int = 1) -> None:
        """Until it is over; whatever is begun is ended."""
        async with asyncio.TaskGroup() as group:
            for _ in range(hands):
                group.create_task(self._hand(is_over))

    def draw(self) -> str:
        """The next card. The order of the cards depends on the seed alone; who it is played on, and how fast,
        depends on the world as well."""
        if not self._deck:
            self._deck = self._shuffler.sample(self._cards, len(self._cards))
        return self._deck.pop()

    async def act(self, kind: str) -> None:
        """One action of that kind."""
        await ACTIONS.get(kind, Nemesis._misfortune(kind))(self)

    async def _hand(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            await self.act(self.draw())
            await asyncio.sleep(self.dice.uniform(0, 2 * self._pause_s))

    @staticmethod
    def _misfortune(kind: str) -> Action:
        """What happens to the store itself."""

        async def happen(nemesis: Nemesis) -> None:
            misfortune = nemesis.stage.ground.misfortunes.get(kind)
            if misfortune is None:
                return
            async with nemesis._store_turn:
                since = ledgers.now()
                await misfortune()
                nemesis.note(kind, since)

        return happen

    async def kill(self, role: str = "") -> None:
        async with self._victim(role) as slot:
            if slot is not None:
                await self._kill(slot)

    async def massacre(self) -> None:
        """Everybody who plans, or everybody who works."""
        role = self.dice.choice((SCHEDULER, WORKER))
        count = sum(slot.role == role for slot in self.stage.slots)
        await asyncio.gather(*(self.kill(role) for _ in range(count)))

    async def stall_in_write(self) -> None:
        """A leader whose planning write is on its way: frozen until others lead in its place, then all at
        once it goes on, and so does the write."""
        async with self._victim(SCHEDULER, leading=True) as slot:
            if slot is None:
                return
            if slot.to_ledger is None:
                await self._stall(slot)
                return
            try:
                await slot.to_ledger.hold_from(PLAN_BYTES, TRAP_S, nemesis_app.PREFIX.encode())
                await self._stall(slot, release=slot.to_ledger.release)
            except TimeoutError:
                return
            finally:
                slot.to_ledger.heal()

    async def stall(self) -> None:
        """Anybody, whatever it does."""
        async with self._victim() as slot:
            if slot is not None:
                await self._stall(slot)

    async def partition(self) -> None:
        await self._cut(PARTITION, one_way=False)

    async def partition_one_way(self) -> None:
        await self._cut(ONE_WAY, one_way=True)

    async def reset(self) -> None:
        """All connections of one process, at once."""
        async with self._victim(with_lines=True) as slot:
            if slot is None:
                return
            for line in slot.lines:
                line.reset()
            self.note(RESET, ledgers.now(), slot)

    async def lose_answer(self) -> None:
        """A write is carried out, and whoever sent it hears that the connection is gone."""
        async with self._victim(with_lines=True) as slot:
            if slot is None or slot.to_ledger is None:
                return
            since = ledgers.now()
            slot.to_ledger.lose_next_answer(nemesis_app.PREFIX.encode())
            with suppress(TimeoutError):
                await slot.to_ledger.lost(LOST_S)
                self.note(LOST_ANSWER, since, slot)
            slot.to_ledger.heal()

    async def jump(self) -> None:
        """The wall clock of a process that runs."""
        async with self._victim(with_clock=True) as slot:
            if slot is None or slot.clock is None:
                return
            since = ledgers.now()
            hours = self.dice.choice(LEAPS) * (LEAP.total_seconds() / 3600)
            slot.clock.write_text(f"{hours:+g}h\n")
            await asyncio.sleep(self.dice.uniform(*CUT_S))
            slot.clock.write_text("+0\n")
            self.note(CLOCK_JUMP, since, slot)

    def note(self, kind: str, since: datetime, slot: Slot | None = None) -> None:
        self.counts[kind] += 1
        self.stage.faults.append(Fault(kind, since, ledgers.now(), slot.name if slot else ""))

    async def _kill(self, slot: Slot) -> None:
        since = ledgers.now()
        slot.member.kill()
        await asyncio.sleep(self.dice.choice(AWAY_S))
        self.stage.start(slot)
        self.note(KILL, since, slot)
        if not await self.stage.up(slot):
            self.stage.findings.append(f"{slot.name} does not come up\n{slot.member.log[-3_000:]}")

    async def _stall(self, slot: Slot, release: Callable[[], None] | None = None) -> None:
        led = await self.stage.led_by(slot)
        since = ledgers.now()
        await self._freeze(slot)
        refused = len(slot.member.told(STALE_WRITE))
        try:
            await asyncio.sleep(STALL_S)
            with suppress(AssertionError):
                await eventually(lambda: self._is_succeeded(slot), "others lead", SUCCESSION_S)
        finally:
            slot.member.thaw()
        self.note(STALL if release is None else STALL_IN_WRITE, since, slot)
        if release is None:
            return
        release()

        async def is_refused() -> bool:
            return len(slot.member.told(STALE_WRITE)) > refused or not led

        with suppress(AssertionError):
            await eventually(is_refused, "the late write is refused", REFUSED_S)

    async def _freeze(self, slot: Slot) -> None:
        """Between two writes, where one file is all there is: what a frozen process has locked there nobody
        else can write."""
        for _ in range(STALL_TRIES_MAX):
            slot.member.freeze()
            if not await self.stage.ground.ledger.is_locked():
                return
            slot.member.thaw()
            await asyncio.sleep(0.01)
        slot.member.freeze()

    async def _is_succeeded(self, slot: Slot) -> bool:
        return not await self.stage.led_by(slot)

    async def _cut(self, kind: str, *, one_way: bool) -> None:
        async with self._victim(with_lines=True) as slot:
            if slot is None:
                return
            since = ledgers.now()
            lines = self._some_lines(slot)
            for line in lines:
                if one_way:
                    line.cut_answers()
                else:
                    line.cut()
            await asyncio.sleep(self.dice.uniform(*CUT_S))
            for line in lines:
                line.heal()
            self.note(kind, since, slot)

    @asynccontextmanager
    async def _victim(
        self, role: str = "", *, leading: bool = False, with_lines: bool = False, with_clock: bool = False
    ) -> AsyncIterator[Slot | None]:
        """Somebody to whom nothing happens at the moment, if there is one."""
        fitting = [
            slot
            for slot in self.dice.sample(self.stage.slots, len(self.stage.slots))
            if slot.is_free
            and role in (slot.role, "")
            and slot.member.alive
            and (slot.lines or not with_lines)
            and (slot.clock or not with_clock)
        ]
        if leading:
            fitting = [slot for slot in fitting if await self.stage.led_by(slot)]
        slot = next((one for one in fitting if one.is_free), None)
        if slot is None:
            yield None
            return
        slot.is_free = False
        try:
            yield slot
        finally:
            slot.is_free = True

    def _some_lines(self, slot: Slot) -> list[Proxy]:
        """All lines of a process, or one of them."""
        lines = [line for line in (slot.to_ledger, slot.to_leases) if line is not None]
        return lines if self.dice.random() < 0.5 else [self.dice.choice(lines)]


ACTIONS: Mapping[str, Action] = {
    KILL: Nemesis.kill,
    MASSACRE: Nemesis.massacre,
    STALL: Nemesis.stall,
    STALL_IN_WRITE: Nemesis.stall_in_write,
    PARTITION: Nemesis.partition,
    ONE_WAY: Nemesis.partition_one_way,
    RESET: Nemesis.reset,
    LOST_ANSWER: Nemesis.lose_answer,
    CLOCK_JUMP: Nemesis.jump,
}
STORE_FAULTS = frozenset({STORE_RESTART, FAILOVER, LEASE_RESTART, LEASE_WIPE})
