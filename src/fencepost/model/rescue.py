"""A run whose worker shows no life, and what is done about it."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta

from fencepost.model.clocks import StoreTime, is_from_the_future, later
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import NodeId
from fencepost.model.job import JobSpec
from fencepost.model.run import RunState, Ticket


@dataclass(frozen=True, slots=True)
class Expired:
    """A running run past its `alive_until`; `job` is None where the store does not know the job."""

    ticket: Ticket
    worker: NodeId | None
    silent_for_s: float
    cancel_requested: bool
    job: JobSpec | None
    attempts_before_replay: int = 0
    """How many attempts it had had before it was last replayed."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """`ready` to run again, or `dead`, or `cancelled` where that had been asked for."""

    ticket: Ticket
    state: RunState
    reason: str
    retry_in_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SweepTerms:
    """When a sweep gives every owner of a run `grace_s` to show life: where the sweep before it was more than
    `gap_max_s` ago, or lies in the future because the store's clock was set back. Owners that have shown no
    life since the last such grace get the rest of it."""

    gap_max_s: float
    grace_s: float

    def are_broken(self, last: StoreTime, now: StoreTime) -> bool:
        """Whether the owners may have been unable to reach the store since the last sweep."""
        return now - last > timedelta(seconds=self.gap_max_s) or is_from_the_future(last, now)

    def grant(
        self, alive_until: StoreTime, granted: StoreTime | None, last: StoreTime, now: StoreTime
    ) -> StoreTime:
        """Until when an owner counts as alive after such a gap. `granted` is the end of the grace that was
        given before. An owner that has not shown life since then keeps what was left of it at the last
        sweep."""
        until = later(now, self.grace_s)
        if last > now:
            return until
        if granted is not None and alive_until <= granted:
            return min(StoreTime(alive_until + (now - last)), until)
        return max(alive_until, until)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found. Where it gave grace it found nothing. `last_s` is how long ago the sweep before
    was, negative where the store's clock was set back. A store may know more from the same reading: where it
    is `quiet`, nothing runs, no tick is due, and none waits for its turn or for a limit."""

    expired: tuple[Expired, ...] = ()
    last_s: float | None = None
    quiet: bool = field(default=False, compare=False)
