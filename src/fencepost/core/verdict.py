"""The verdict on due ticks: lateness first, then overlap.

A pure function of the schedule's runs in the ledger and the store's time, so that the same history gives
every caller the same answer. Live ticks are judged first, in the order of their fire times; then those that
were admitted to catch-up, are filled in or replayed, in theirs. A tick that starts is an unfinished run for
those after it.

| the tick | lateness says | then overlap says |
| --- | --- | --- |
| live, at most 10 s late (`none`: at most `max_lateness`) | on time | its policy |
| live, later, within `max_lateness` | admitted to catch-up | asked when it is its turn |
| live, later than `max_lateness` | missed | nothing |
| live, behind what it waits for by its policy (`buffer_*`, `cancel_other`) | nothing meanwhile | its policy |
| live, on time, `skip`, beside none that is live | nothing while it waits | waits and goes next |
| live, on time, `skip` or `allow(n)`, newer ones would take all places | on time | skipped, superseded |
| catch-up, `latest`, a newer tick is due | missed, coalesced | nothing |
| catch-up, `latest`, the newest | runs | its policy |
| catch-up, `sequential`, `parallel(n)` | runs | waits for its turn, never skips or stops another |
| backfill, replay | nothing | waits for its turn, never skips or stops another |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from fencepost.core import catchup, gate, overlap
from fencepost.model.claiming import (
    Admit,
    CloseGate,
    DueTick,
    End,
    GateFacts,
    ScheduleFacts,
    Start,
    StartedRun,
    Stop,
    Verdict,
    Wait,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import RunKey
from fencepost.model.run import LIVE_ORIGINS, Origin, RunState
from fencepost.model.times import to_utc_text


def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> Sequence[Verdict]:
    """Verdicts for the due ticks of one schedule; without room, none starts."""
    session = _Session(facts, now, room, list(facts.unfinished))
    live = [tick for tick in facts.due if tick.origin in LIVE_ORIGINS]
    queued = [tick for tick in facts.due if tick.origin not in LIVE_ORIGINS]
    session.judge_live(live)
    session.judge_queued(queued)
    return session.verdicts


@dataclass(slots=True)
class _Session:
    """One schedule while its ticks are judged."""

    facts: ScheduleFacts
    now: StoreTime
    room: int
    unfinished: list[StartedRun]
    verdicts: list[Verdict] = field(default_factory=list)
    waiting: int = 0
    admitted: RunKey | None = None
    """The first tick that this verdict lets catch up in its turn."""
    full: bool = False
    """A tick that may start found no room: nothing after it may start before it."""

    def judge_live(self, ticks: Sequence[DueTick]) -> None:
        superseded = self._superseded(ticks) if self.room > 0 and len(ticks) > 1 else {}
        for tick in ticks:
            if self.full:
                return
            if tick.run_key in superseded:
                self._supersede(tick, superseded[tick.run_key])
            else:
                self._judge_live(tick)

    def _superseded(self, ticks: Sequence[DueTick]) -> dict[RunKey, datetime]:
        """Ticks that could start, but whose schedule has newer ticks for all its places: after an absence the
        newest runs, not the oldest. A run that a person asked for gives way to no tick."""
        going = [tick for tick in ticks if self._would_go(tick)]
        if not going or (most := going[-1].overlap.at_once_max) is None:
            return {}
        newest = going[-1].fire_time
        older = going[: -(most - len(self.unfinished))]
        if len(ticks) == len(self.facts.due) and ticks[-1].fire_time < self.facts.newest_due:
            newest, older = self.facts.newest_due, going
        return {one.run_key: newest for one in older if one.origin is Origin.LIVE}

    def _would_go(self, tick: DueTick) -> bool:
        free = self._due_since(tick)
        if free is None or tick.overlap.kind not in overlap.SKIPPING_KINDS:
            return False
        if not catchup.is_on_time(tick.catch_up, free, self.now):
            return False
        found = overlap.answer(tick, True, tuple(self.unfinished), self.facts.finished, self.waiting)
        return isinstance(found, overlap.Go)

    def _supersede(self, tick: DueTick, newest: datetime) -> None:
        reason = f"superseded by the tick of {to_utc_text(newest)}"
        self.verdicts.append(End(tick.run_key, RunState.SKIPPED, reason))

    def judge_queued(self, ticks: Sequence[DueTick]) -> None:
        held = self._gate_is_closed([tick for tick in ticks if tick.origin is Origin.CATCH_UP])
        for tick in ticks:
            coalesced = self._why_coalesced(tick)
            if coalesced is not None:
                self.verdicts.append(End(tick.run_key, RunState.MISSED, coalesced))
            elif held and tick.origin is Origin.CATCH_UP:
                self.verdicts.append(Admit(tick.run_key, held=True))
            elif not self.full:
                self._let_in(tick)

    def _judge_live(self, tick: DueTick) -> None:
        due_since = self._due_since(tick)
        if due_since is None:
            self._overlap(tick, on_time=True)
        elif (too_late := catchup.why_too_late(tick.catch_up, due_since, self.now)) is not None:
            self.verdicts.append(End(tick.run_key, RunState.MISSED, too_late))
        elif catchup.is_on_time(tick.catch_up, due_since, self.now):
            self._overlap(tick, on_time=True)
        else:
            self._admit(tick)

    def _due_since(self, tick: DueTick) -> StoreTime | None:
        """From when the tick's lateness counts; None while it waits by its policy."""
        free = overlap.free_since(tick, tuple(self.unfinished), self.facts.finished)
        return None if free is None else StoreTime(free)

    def _admit(self, tick: DueTick) -> None:
        coalesced = catchup.why_coalesced(tick.catch_up, tick.fire_time, self._newest_due(tick))
        if coalesced is not None:
            self.verdicts.append(End(tick.run_key, RunState.MISSED, coalesced))
        elif self.facts.gate.closed:
            self.verdicts.append(Admit(tick.run_key, held=True))
        else:
            self.verdicts.append(Admit(tick.run_key, waits=self._why_wait(tick)))

    def _why_wait(self, tick: DueTick) -> str | None:
        """Of the ticks that catch up in their turn the first is judged next, by the gate too; the others can
        only wait for it."""
        if not catchup.queues(tick):
            return None
        if self.admitted is None:
            self.admitted = tick.run_key
            return None
        return f"waits for its turn behind {self.admitted}"

    def _why_coalesced(self, tick: DueTick) -> str | None:
        if tick.origin is not Origin.CATCH_UP:
            return None
        return catchup.why_coalesced(tick.catch_up, tick.fire_time, self._newest_due(tick))

    def _newest_due(self, tick: DueTick) -> datetime:
        """The newest due tick of the schedule. After an absence of the planners that tick is not written yet;
        it is taken to be due as long after its fire time as this tick was."""
        unplanned = self.facts.unplanned
        if unplanned is None or unplanned + (tick.run_at - tick.fire_time) > self.now:
            return self.facts.newest_due
        return max(unplanned, self.facts.newest_due)

    def _gate_is_closed(self, caught_up: Sequence[DueTick]) -> bool:
        """Whether catch-up is held back; this very verdict may close the gate."""
        state: GateFacts = self.facts.gate
        if not caught_up or state.closed:
            return state.closed
        why = gate.why_close(caught_up[-1].catch_up.gate, state)
        if why is None:
            return False
        self.verdicts.append(CloseGate(why))
        return True

    def _let_in(self, tick: DueTick) -> None:
        """Start a tick that is not live: by the policy of its schedule, or in its turn."""
        if tick.origin is Origin.CATCH_UP and not catchup.queues(tick):
            self._overlap(tick, on_time=False)
        elif self._has_place(tick):
            self._start(tick)
        else:
            self._wait(tick, f"waits for its turn behind {self.unfinished[0].run_key}")

    def _has_place(self, tick: DueTick) -> bool:
        most = tick.overlap.at_once_max
        alike = sum(one.origin is tick.origin for one in self.unfinished)
        return (most is None or len(self.unfinished) < most) and alike < tick.at_once_max

    def _overlap(self, tick: DueTick, *, on_time: bool) -> None:
        newest = self._newest_due(tick)
        if overlap.displaces(tick) and tick.fire_time < newest:
            self._supersede(tick, newest)
            return
        answer = overlap.answer(tick, on_time, tuple(self.unfinished), self.facts.finished, self.waiting)
        match answer:
            case overlap.Go():
                self._start(tick)
            case overlap.Skip(blocked_by, reason):
                self.verdicts.append(End(tick.run_key, RunState.SKIPPED, reason, blocked_by))
            case overlap.Queue(behind, ask):
                self._queue(tick, behind, ask)
            case overlap.Displace(others):
                self._displace(tick, others)
            case _ as never:
                assert_never(never)

    def _queue(self, tick: DueTick, behind: RunKey, ask: Sequence[RunKey]) -> None:
        if self._starts_any(ask):
            return
        reason = f"asked to make way for {tick.run_key}"
        self.verdicts += [Stop(one, reason, at_once=False) for one in ask]
        self._wait(tick, f"waits behind {behind}")

    def _displace(self, tick: DueTick, others: Sequence[RunKey]) -> None:
        if self.room <= 0:
            self.full = True
            return
        if self._starts_any(others):
            return
        reason = f"terminated by {tick.run_key}"
        self.verdicts += [Stop(one, reason, at_once=True) for one in others]
        self.unfinished = [one for one in self.unfinished if one.run_key not in others]
        self._start(tick)

    def _starts_any(self, runs: Sequence[RunKey]) -> bool:
        """A verdict does not stop the runs that it starts: the tick is judged again in a moment."""
        return any(Start(one) in self.verdicts for one in runs)

    def _wait(self, tick: DueTick, reason: str) -> None:
        self.waiting += 1
        if not tick.parked:
            self.verdicts.append(Wait(tick.run_key, reason))

    def _start(self, tick: DueTick) -> None:
        if self.room <= 0:
            self.full = True
            return
        self.room -= 1
        self.unfinished.append(
            StartedRun(tick.run_key, tick.fire_time, origin=tick.origin, first_started_at=self.now)
        )
        self.verdicts.append(Start(tick.run_key))
