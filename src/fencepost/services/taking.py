"""Taking due runs from the ledger for a worker that is not a loop of this process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence

from fencepost.config import Settings
from fencepost.model.claiming import ClaimRequest, Outlook
from fencepost.model.clocks import since
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.run import Claim
from fencepost.ports.ledger import Ledger
from fencepost.services.claiming import claim_first, share_room
from fencepost.telemetry.events import RunClaimed, emit, is_heard

LOCKED_REST_S = 0.02
"""What is due and was not to be had is locked by another, for a moment."""
REST_MIN_S = 0.001
FEW = 10
"""A look that finds fewer has mostly found all, so the next one waits for a moment."""
HINTS_MAX = 5
"""After this number of hints that were for others, it looks first."""


async def take(
    ledger: Ledger, claim_request: ClaimRequest, limit: int, settings: Settings, turns: Counter[Queue]
) -> tuple[list[Claim], float]:
    """Claims, shared out as a worker of the program shares its room, and after how long it is worth to look
    again. What the worker outside has in progress of each queue is not known here; `turns` are those of all
    workers outside together."""
    outlook = await ledger.outlook(claim_request)
    shares = share_room(outlook, limit, {}, settings, turns)
    claims: list[Claim] = []
    for kind in shares.kinds():
        if len(claims) < limit:
            claims += await shares.take(ledger, claim_request, kind, limit - len(claims))
    _tell(claims)
    return claims, _rest_s(outlook, settings.poll_s)


class Taking:
    """How one loop takes. What comes after a rest with nothing to do is taken without a look at what waits,
    unless the last hints were for others."""

    def __init__(self, settings: Settings, limited: Collection[JobName]) -> None:
        self._settings = settings
        self._limited = limited
        self._turns: Counter[Queue] = Counter()
        self._idle_until_s = 0.0
        self._for_others = 0

    def rest(self, rest_s: float) -> None:
        """The loop has looked at all that it may take, and rests."""
        if rest_s > LOCKED_REST_S:
            self._idle_until_s = asyncio.get_running_loop().time() + rest_s

    async def take(
        self, ledger: Ledger, claim_request: ClaimRequest, limit: int
    ) -> tuple[Sequence[Claim], float]:
        """As `take`."""
        is_hint = asyncio.get_running_loop().time() < self._idle_until_s
        self._idle_until_s = 0.0
        claims: Sequence[Claim] = []
        rest_s = LOCKED_REST_S
        if is_hint and self._for_others < HINTS_MAX:
            claims = await claim_first(ledger, claim_request, self._limited, min(limit, FEW))
            _tell(claims)
        if not claims:
            claims, rest_s = await take(ledger, claim_request, limit, self._settings, self._turns)
        if is_hint:
            self._for_others = 0 if claims else self._for_others + 1
        return claims, rest_s


def _tell(claims: Sequence[Claim]) -> None:
    for one in claims if is_heard() else ():
        emit(RunClaimed(one))


def _rest_s(outlook: Outlook, poll_s: float) -> float:
    if outlook.is_anything_due:
        return LOCKED_REST_S
    if outlook.next_due_at is None:
        return poll_s
    return min(max(-since(outlook.next_due_at, outlook.now).total_seconds(), REST_MIN_S), poll_s)
