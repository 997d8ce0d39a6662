"""Taking due runs from the ledger for a worker that is not a loop of this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from fencepost.config import Settings
from fencepost.model.claiming import Appetite, Outlook
from fencepost.model.clocks import since
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.run import Claim
from fencepost.ports.ledger import Ledger
from fencepost.services.claiming import claim_first, share_room
from fencepost.telemetry.events import RunClaimed, emit, is_heard

LOCKED_REST_S = 0.02
"""What is due and was not to be had is locked by another, for a moment."""
REST_MIN_S = 0.001


async def take(
    ledger: Ledger, appetite: Appetite, limit: int, settings: Settings, turns: Counter[Queue]
) -> tuple[list[Claim], float]:
    """Claims, shared out as a worker of the program shares its room, and after how long it is worth to look
    again. What the worker outside has in progress of each queue is not known here; `turns` are those of all
    workers outside together."""
    outlook = await ledger.outlook(appetite)
    shares = share_room(outlook, limit, {}, settings, turns)
    claims: list[Claim] = []
    for kind in shares.kinds():
        if len(claims) < limit:
            claims += await shares.take(ledger, appetite, kind, limit - len(claims))
    _tell(claims)
    return claims, _rest_s(outlook, settings.poll_s)


async def take_first(
    ledger: Ledger, appetite: Appetite, limited: Collection[JobName], limit: int
) -> tuple[Sequence[Claim], float]:
    """The same without a look at what waits, for one who had nothing to do."""
    claims = await claim_first(ledger, appetite, limited, limit)
    _tell(claims)
    return claims, LOCKED_REST_S


def _tell(claims: Sequence[Claim]) -> None:
    for one in claims if is_heard() else ():
        emit(RunClaimed(one))


def _rest_s(outlook: Outlook, poll_s: float) -> float:
    if outlook.is_anything_due:
        return LOCKED_REST_S
    if outlook.next_due_at is None:
        return poll_s
    return min(max(-since(outlook.next_due_at, outlook.now).total_seconds(), REST_MIN_S), poll_s)
