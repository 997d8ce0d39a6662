"""Catch-up gates. A gate is closed by a verdict (`CloseGate`) and opened by an operator.

Closing sets `Hold.GATE` on every catch-up tick of the schedule that no worker has started, and leaves an
entry by Fencepost; closing a closed gate changes nothing. Later catch-up ticks are held as they are admitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.audit import Author
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import Namespace, ScheduleId


class Gates(Protocol):
    """The gates that wait for a decision."""

    async def closed(self, namespace: Namespace) -> Sequence[ClosedGate]:
        """All closed gates, by schedule."""
        ...

    async def decide(
        self, namespace: Namespace, schedule_id: ScheduleId, decision: GateDecision, author: Author
    ) -> int | None:
        """Open a closed gate; how many runs were released, or None where it is not closed.

        The released runs lose `Hold.GATE`: with `LATEST` the tick with the newest fire time, with `DROP`
        none. All others are set `missed`, with a reason that names the decision, the author and the author's
        reason. The gate remembers when it was opened and the newest fire time that was let through: the facts
        of later verdicts count only what came and ended after that. Listeners for `runs` are told.
        """
        ...
