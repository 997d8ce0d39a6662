"""What boards, lists and live streams read of the ledger, each in one snapshot.

`news` keeps many open pages cheap: one reader asks for all of them. It asks "what began, failed or ended
since then?" by the store's time, and **the order of times is not the order of commits**: a run that ended at
12:00:00.1 may become visible after one that ended at 12:00:02. A reader of the news must therefore ask with
an overlap, for some seconds more than since the last answer, and drop what it has told already, by (run key,
fence, state). A change whose transaction took longer to commit than the overlap is seen only by the next full
reading: news is for display, never for decisions. Becoming due, being planned, held or replayed are no news
of a run; they show in the standings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.run import RunState
from fencepost.model.views import Attention, News, RunMark, ScheduleOutcomes, TrafficBucket


class LedgerViews(Protocol):
    """What people who watch the ledger read."""

    async def strips(
        self, namespace: Namespace, schedule_ids: Sequence[ScheduleId], each: int
    ) -> Mapping[ScheduleId, Sequence[RunMark]]:
        """The last runs of each of these schedules whose fire time has come, up to the given number, as
        shown, oldest first by fire time and key. A schedule without any is left out."""
        ...

    async def outcomes(
        self,
        namespace: Namespace,
        schedule_ids: Sequence[ScheduleId],
        edges: Sequence[datetime],
        each: int,
        late_s: float,
    ) -> Mapping[ScheduleId, ScheduleOutcomes]:
        """What became of the ticks of these schedules, as shown, in the stretches of time between two of the
        edges that follow each other. The first edge is in, the last is out. Of each schedule at most `each`
        runs are looked at, the latest ones; what fired together with the last of these is left out. A run is
        late where its first attempt began more than `late_s` after it was due, or catch-up has let it
        through. A schedule without a tick is not there."""
        ...

    async def traffic(self, namespace: Namespace, since_s: float, bucket_s: int) -> Sequence[TrafficBucket]:
        """The runs whose fire time lies in the last `since_s` seconds, as shown, in buckets that are counted
        from 1970. The first bucket is whole; a bucket in which nothing fired is there and empty."""
        ...

    async def tally_by_job(
        self, namespace: Namespace, since_s: float
    ) -> Mapping[JobName, Mapping[RunState, int]]:
        """The answer of `tally`, for each job by itself."""
        ...

    async def overdue(self, namespace: Namespace, since_s: float, late_s: float) -> int:
        """How many runs whose fire time lies in the last `since_s` seconds have been due for longer than
        `late_s` and could be taken: no worker has begun this attempt, nothing holds them, and neither
        everything nor their queue is frozen."""
        ...

    async def attention(self, namespace: Namespace, most: int) -> Attention:
        """What waits for a person, each counted up to `most`."""
        ...

    async def news(self, since: StoreTime, limit: int, namespaces: Sequence[Namespace]) -> News:
        """What began, failed for now or ended after `since` in these namespaces, up to `limit` runs, the
        latest first, and how each of them stands."""
        ...
