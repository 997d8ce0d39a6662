"""What a job is handed: the run it is part of."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.identifiers import Epoch, Fence, JobName, RunKey, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.run import Claim
from fencepost.model.text import storable

PROGRESS_LENGTH_MAX = 1_000


class Run:
    """One attempt, seen from inside. Safe to use from the job's thread as well as from the event loop."""

    __slots__ = ("_cancelled", "_claim", "_progress", "left_output")

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._progress: str | None = None
        self._cancelled = False
        self.left_output: str | None = None
        """Set by an executor whose work was cut short: what it had written until then."""

    @property
    def key(self) -> RunKey:
        """The run's key: the same for every attempt, good as an idempotency key for other systems."""
        return self._claim.run_key

    @property
    def schedule_id(self) -> ScheduleId | None:
        return self._claim.schedule_id

    @property
    def job(self) -> JobName:
        return self._claim.job

    @property
    def fire_time(self) -> datetime:
        """The nominal time of the tick, in UTC."""
        return self._claim.fire_time

    @property
    def version(self) -> int:
        return self._claim.version

    @property
    def attempt(self) -> int:
        """1 for the first try."""
        return self._claim.attempt

    @property
    def fence(self) -> Fence:
        """Larger than that of any earlier attempt: pass it on to whatever must refuse a stale writer."""
        return self._claim.fence

    @property
    def epoch(self) -> Epoch:
        return self._claim.epoch

    @property
    def payload(self) -> JsonObject:
        return self._claim.payload

    @property
    def previous(self) -> datetime | None:
        """The fire time of the schedule's last successful run."""
        return self._claim.previous

    @property
    def cancelled(self) -> bool:
        """Whether this attempt has been asked to stop, or has lost the run to another attempt."""
        return self._cancelled

    def heartbeat(self, progress: str | None = None) -> None:
        """Say how far the work has come; the ledger hears of it with the next heartbeat."""
        if progress is not None:
            self._progress = storable(str(progress), PROGRESS_LENGTH_MAX)

    def ask_to_stop(self) -> None:
        """Called by the worker; a job only reads `cancelled`."""
        self._cancelled = True

    def take_progress(self) -> str | None:
        """Called by the heartbeat: the latest word, once."""
        progress, self._progress = self._progress, None
        return progress
