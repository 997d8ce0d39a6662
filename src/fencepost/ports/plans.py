"""Where plans are written, under the epoch of the shard's leader.

The ledger keeps its own record of each shard's leader (`ports.epochs`). A plan is written only while the
shard's record equals the plan's epoch, and the record is locked against change until the plan is durable. So
a leader that was stalled, partitioned or superseded changes nothing, whatever its lease store believed.

Every version of a schedule has a cursor of its own. A plan's runs and its cursor's advance are one write.
The cursor is compared first: same `planned_through` and same `until` as the plan started from. A plan that
does not fit any more is dropped and counted. So an edit that was acknowledged is never followed by a tick of
the old version later than the edit. A version that was closed before it was planned to its end is still
planned to its end.

A cursor also knows the release of the zone rules by which its version was last planned: a text such as 2026a,
compared byte by byte. It says what was done, so an old node that plans after a newer one puts it back. A
leader with newer rules asks for the versions that were planned by older ones, compares, and confirms those
that have not changed. Those that have changed get their next version (`Schedules.renew`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from fencepost.model.identifiers import Namespace, Shard
from fencepost.model.plan import Cursor, Outlived, Plan, PlanningWindow, PlanReceipt

PLANNED_MAX = 10_000


class Plans(Protocol):
    """The planner's side of the ledger."""

    async def window(
        self, shards: Sequence[Shard], horizon_s: float, limit: int, without: Collection[Namespace] = ()
    ) -> PlanningWindow:
        """The versions of these shards' schedules that need a look within the horizon, soonest first; none of
        the namespaces in `without`."""
        ...

    async def write(self, plans: Sequence[Plan]) -> PlanReceipt:
        """Write runs (state `planned`, due at the tick's `run_at`) and advance cursors, fenced.

        A fire time for which the schedule has a run already, of whatever version, is not planned again
        unless that run was withdrawn: a tick that was cancelled by name, or that ran before the store's
        clock stepped back, does not return under a later version. A tick that `catches_up` is written as a
        catch-up run. `missed` ticks get no rows: those of them that have no run are counted in a
        `MissedRange`, which grows where it is of the same version and reason and ends where the cursor
        stood. Runs of a frozen schedule are held. Listeners for `runs` are told once a call when something
        was written.
        """
        ...

    async def postpone(self, cursors: Sequence[Cursor], by_s: float) -> None:
        """Look at these cursors again that much later than now; nothing else of them changes.

        Only where `planned_through`, `until` and the version are still the same, and the version still has
        something to look at. No epoch is compared: the worst that a superseded leader does is a delay.
        """
        ...

    async def outlived(self, shards: Sequence[Shard], tzdata: str, limit: int) -> Sequence[Outlived]:
        """The versions of these shards' schedules that were last planned by older zone rules than these, in
        no particular order: those that have no end yet and have something left to plan.

        Each comes with the fire times after the store's time of those of its runs that are `planned`,
        ascending, the first `PLANNED_MAX` of them.
        """
        ...

    async def confirm(self, confirmed: Sequence[tuple[Cursor, datetime | None]], tzdata: str) -> None:
        """Note that these rules give the same times for what is planned, and when to look again (None:
        never).

        Only where `planned_through`, `until` and the version are still the same, the version still has
        something to look at, and its rules are not newer than these. No epoch is compared: what comes after
        `planned_through` depends on the version and the rules alone, so a superseded leader can only write
        what any other would, and one with older rules than the last writer's changes nothing.
        """
        ...
