"""One pass of claiming: what waits, which kind of it first, and how much of each lane.

There are three kinds of work, each taken by a call of its own: runs that need no verdict, ticks, and the
limit queues of jobs. The kind with the first lane of the walk goes first. All of them share the room by
queue, so none takes another queue's share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import assert_never

from fencepost.config import Settings
from fencepost.core.lane_limits import lane_limits, share
from fencepost.core.limits import decide
from fencepost.model.claiming import ClaimRequest, Head, LaneLimit, Outlook
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Queue
from fencepost.model.run import Claim
from fencepost.ports.ledger import Ledger
from fencepost.services.judging import VerdictLog
from fencepost.services.prefetch import MOMENT_S

WAITING_MAX = 1
"""How many runs may wait in a worker for a child process, so that no child stands idle between two of
them."""


class Kind(Enum):
    """What a call of the ledger takes."""

    DIRECT = auto()
    TICK = auto()
    LINED = auto()


@dataclass(frozen=True)
class Shares:
    """How the room of one pass is shared. A claimed run uses up the share of its queue, and is counted in
    `turns`, which outlive the pass."""

    outlook: Outlook
    given: dict[Queue, int]
    ageing_s: float
    turns: Counter[Queue]

    def kinds(self) -> list[Kind]:
        """The kinds of which something may be taken, in the order of the walk."""
        walks = {kind: walk for kind in Kind if (walk := self._walk(kind))}
        return sorted(walks, key=lambda kind: walks[kind][0][0])

    async def take(
        self, ledger: Ledger, claim_request: ClaimRequest, kind: Kind, room: int
    ) -> Sequence[Claim]:
        """Claim of one kind, as far as there is room."""
        walk = tuple(one for _, one in self._walk(kind))
        limit = min(room, sum(self.given[queue] for queue in {one.queue for one in walk}))
        if limit <= 0:
            return []
        claims = await _claim(ledger, replace(claim_request, lane_limits=walk), limit, kind)
        for queue, taken in Counter(one.queue for one in claims).items():
            self.given[queue] = max(0, self.given.get(queue, 0) - taken)
            self.turns[queue] += taken
        return claims

    def _walk(self, kind: Kind) -> list[tuple[int, LaneLimit]]:
        """The lanes of the kind, each with its place among those of all kinds: an old backlog of one kind
        leaves half to fresh work of another."""
        every = [head for one in Kind for head in heads_of(self.outlook, one)]
        mine = {(head.queue, head.priority) for head in heads_of(self.outlook, kind)}
        walk = enumerate(lane_limits(every, self.given, self.ageing_s, self.turns))
        return [(place, one) for place, one in walk if (one.queue, one.priority) in mine]


class Looks:
    """Reads what waits, no more often than needed: a worker that got all it had room for need not look again
    a moment later."""

    def __init__(self) -> None:
        self._seen: tuple[ClaimRequest, Outlook] | None = None
        self._until_s = 0.0

    async def look(self, ledger: Ledger, claim_request: ClaimRequest, now_s: float) -> Outlook:
        """What waits, or what waited a moment ago."""
        if self._seen is not None and self._seen[0] == claim_request and now_s < self._until_s:
            return self._seen[1]
        self._seen = None
        outlook = await ledger.outlook(claim_request)
        self._seen, self._until_s = (claim_request, outlook), now_s + MOMENT_S
        return outlook

    def forget(self) -> None:
        """The ledger had less than there was room for."""
        self._seen = None


async def claim_first(
    ledger: Ledger, claim_request: ClaimRequest, limited: Collection[JobName], limit: int = 1
) -> Sequence[Claim]:
    """Runs that need no verdict, if any are due. A worker that had nothing to do, and hears that a run is
    there, need not look what waits first: it has room for all kinds. Runs of limited jobs begin from their
    limit queues."""
    others = _without(claim_request, limited)
    return await ledger.claim_direct(others, limit) if others.jobs else []


def helpings(
    claim_request: ClaimRequest, room: int, bounds: Sequence[tuple[Collection[JobName], int]]
) -> list[tuple[ClaimRequest, int]]:
    """The claims to make, one after the other, each with its limit. Some jobs have a smaller bound than the
    room. First come all jobs below their bounds, up to the smallest bound; then the jobs without a bound.
    Another worker may have a place for the rest."""
    tight = [(jobs, most) for jobs, most in bounds if jobs and most < room]
    if not tight:
        return [(claim_request, room)]
    full = {job for jobs, most in tight if most <= 0 for job in jobs}
    bound = {job for jobs, _ in tight for job in jobs}
    least = min((most for _, most in tight if most > 0), default=0)
    asked = [(_without(claim_request, full), least), (_without(claim_request, bound), room)]
    return [(one, limit) for one, limit in asked if limit > 0 and one.jobs]


def _without(claim_request: ClaimRequest, jobs: Collection[JobName]) -> ClaimRequest:
    return replace(claim_request, jobs=tuple(one for one in claim_request.jobs if one not in jobs))


def share_room(
    outlook: Outlook, room: int, busy: Mapping[Queue, int], settings: Settings, turns: Counter[Queue]
) -> Shares:
    """Which queue gets how much of the room. `turns` are the claimer's own, and it keeps them."""
    heads = [head for kind in Kind for head in heads_of(outlook, kind)]
    given = share(heads, room, settings.weights, busy, settings.ageing_s)
    return Shares(outlook, given, settings.ageing_s, turns)


def heads_of(outlook: Outlook, kind: Kind) -> Sequence[Head]:
    """The heads of the lanes of one kind."""
    match kind:
        case Kind.DIRECT:
            return outlook.directs
        case Kind.TICK:
            return outlook.ticks
        case Kind.LINED:
            return outlook.lined
        case _ as never:
            assert_never(never)


async def _claim(ledger: Ledger, claim_request: ClaimRequest, limit: int, kind: Kind) -> Sequence[Claim]:
    match kind:
        case Kind.DIRECT:
            return await ledger.claim_direct(claim_request, limit)
        case Kind.TICK:
            minutes = VerdictLog()
            claims = await ledger.claim_ticks(claim_request, limit, minutes.judge, decide)
            minutes.tell()
            return claims
        case Kind.LINED:
            return await ledger.claim_lined(claim_request, limit, decide)
        case _ as never:
            assert_never(never)
