"""The judge that services pass to the ledger, with a log of its verdicts.

A verdict is carried out inside the store's transaction, so it takes effect only when the call has returned.
Then it is reported, each tick once. Runs that are to make way are not reported: the store leaves alone those
that it cannot stop, and does not say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fencepost.core.verdict import judge
from fencepost.model.claiming import CloseGate, End, ScheduleFacts, Verdict
from fencepost.model.identifiers import Namespace, RunKey, ScheduleId
from fencepost.telemetry.events import Event, GateClosed, TickTurnedDown, emit, is_heard

if TYPE_CHECKING:
    from fencepost.model.clocks import StoreTime


class VerdictLog:
    """What was judged in one call of the ledger."""

    def __init__(self) -> None:
        self._told: dict[tuple[Namespace, ScheduleId, RunKey | None], Event] = {}

    def judge(self, facts: ScheduleFacts, now: StoreTime, room: int) -> Sequence[Verdict]:
        """The verdicts of `core.verdict`; ticks that end by them are noted if there is a listener."""
        verdicts = judge(facts, now, room)
        if is_heard():
            self._note(facts, verdicts)
        return verdicts

    def tell(self) -> None:
        """The ledger has carried them out."""
        for event in self._told.values():
            emit(event)
        self._told.clear()

    def _note(self, facts: ScheduleFacts, verdicts: Sequence[Verdict]) -> None:
        namespace, schedule_id = facts.namespace, facts.schedule_id
        jobs = {tick.run_key: tick.job for tick in facts.due}
        for one in verdicts:
            match one:
                case End(run_key, state, reason):
                    event: Event = TickTurnedDown(
                        namespace, schedule_id, run_key, jobs[run_key], state, reason
                    )
                    self._told[namespace, schedule_id, run_key] = event
                case CloseGate(reason):
                    event = GateClosed(namespace, schedule_id, reason)
                    self._told[namespace, schedule_id, None] = event
                case _:
                    pass
