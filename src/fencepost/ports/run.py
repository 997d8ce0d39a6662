"""The run that a job's function is given: the attempt that it is part of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.errors import OutOfReach, UsageError
from fencepost.model.identifiers import Epoch, Fence, JobName, RunKey, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.text import storable

if TYPE_CHECKING:
    from fencepost.model.run import Claim, Predecessor
    from fencepost.ports.run_context import RunContext
    from fencepost.ports.transactions import RunTransaction

PROGRESS_LENGTH_MAX = 1_000
NOTE_LENGTH_MAX = 1_000
SHARE_DIGITS = 4
_BEGUN = asyncio.Event()
_BEGUN.set()


class Said(NamedTuple):
    """The latest progress and note that a job has given; None where it gave none."""

    progress: str | None = None
    note: str | None = None


class Run:
    """One attempt, seen from inside. Safe to use from the job's thread as well as from the event loop."""

    __slots__ = (
        *("_cancelled", "_claim", "_heard", "_keep", "_run_context", "_said"),
        *("begun", "is_handed_on", "left_output", "marks", "trace_context"),
    )

    def __init__(
        self, claim: Claim, run_context: RunContext | None = None, keep: Callable[[str], None] | None = None
    ) -> None:
        self._claim = claim
        self._run_context = run_context
        self._keep = keep
        self._said: Said | None = None
        self._heard: Said | None = None
        self._cancelled = False
        self.begun = _BEGUN
        """Whether the work has begun: its bounds count from then. It is unset only while an executor that
        `queues` has not come to the run; that executor sets it, on the worker's loop."""
        self.is_handed_on = False
        """Set by the worker with a stop that does not end the run: the worker stops, or another attempt has
        the run. An executor then leaves work that is done elsewhere alone."""
        self.marks = 0
        """How often the job has marked its progress; the watcher looks whether this rises."""
        self.left_output: str | None = None
        """Set by an executor whose work was cut short: what it had written until then."""
        self.trace_context: Mapping[str, str] = {}
        """Set by the worker where runs are traced: `traceparent`, and `tracestate` where there is one."""

    @property
    def claim(self) -> Claim:
        """The attempt as the ledger granted it, for an executor that passes it on."""
        return self._claim

    @property
    def key(self) -> RunKey:
        """The run's key: the same for every attempt, good as an idempotency key for other systems."""
        return self._claim.run_key

    @property
    def schedule_id(self) -> ScheduleId | None:
        """The schedule of the tick; None for a run by hand of a job."""
        return self._claim.schedule_id

    @property
    def job(self) -> JobName:
        """The name of the job."""
        return self._claim.job

    @property
    def fire_time(self) -> datetime:
        """The nominal time of the tick, in UTC."""
        return self._claim.fire_time

    @property
    def version(self) -> int:
        """The version of the schedule that planned the tick."""
        return self._claim.version

    @property
    def attempt(self) -> int:
        """1 for the first try."""
        return self._claim.attempt

    @property
    def fence(self) -> Fence:
        """Larger than that of any earlier attempt: pass it on to a system that must refuse a stale writer."""
        return self._claim.fence

    @property
    def epoch(self) -> Epoch:
        """The epoch of the leader that planned the tick."""
        return self._claim.epoch

    @property
    def payload(self) -> JsonObject:
        """The payload as it was enqueued or planned."""
        return self._claim.payload

    @property
    def previous(self) -> datetime | None:
        """The fire time of the schedule's last successful run."""
        return self._claim.previous

    @property
    def after(self) -> tuple[Predecessor, ...]:
        """The runs that this one followed, where its job runs after others: each with its `key`, `job` and
        `state`, and with what it left, `result` or `error`. Empty in a run that was enqueued by hand."""
        return self._claim.after

    @property
    def traceparent(self) -> str | None:
        """The W3C header that makes another system's spans part of this attempt; None without traces."""
        return self.trace_context.get("traceparent")

    @property
    def cancelled(self) -> bool:
        """Whether this attempt has been asked to stop, or has lost the run to another attempt."""
        return self._cancelled

    def heartbeat(self, progress: float | str | None = None, note: str | None = None) -> None:
        """Mark progress; the ledger gets it with the next heartbeat.

        `progress` is how far the work has come, a share from 0 to 1 or a text; `note` is what it is at. Each
        stands until another is given. A job with a progress deadline that does not call this for so long
        counts as stuck.
        """
        said = Said(progress_text(progress), None if note is None else storable(str(note), NOTE_LENGTH_MAX))
        before = self._said or Said()
        self._said = Said(said.progress or before.progress, said.note or before.note)
        self.marks += 1

    def log(self, text: str) -> None:
        """Keep some text in the run's log: `fencepost runs logs KEY` shows it.

        The log is bounded: the first lines and the last are kept. It also keeps what the job writes with
        `logging`.
        """
        if self._keep is not None:
            self._keep(str(text))

    def transaction(self, *, complete: bool = True) -> RunTransaction:
        """A transaction on the ledger's database, for the job's own tables.

        The run is succeeded when the block ends well: what the block wrote and that marker are there
        together or not at all. The transaction does not cover what the function does after the block. With
        `complete=False` the run goes on; such a transaction is fenced, and commits by itself.

        `async with run.transaction() as tx: await tx.execute(…)` in an async job; in a plain function
        `with run.transaction() as tx: tx.execute(…)`.
        """
        return self._reached("transaction()").transaction(complete=complete)

    def complete_in(self, connection: object, result: object = None) -> Any:
        """Write the success marker in the caller's own transaction, which the caller then commits.

        `await` it where the connection is of an async driver. Over a driver that blocks it is done when it
        returns, and may be awaited all the same. Raises `RunLost` where another attempt has the run.
        """
        return self._reached("complete_in()").complete_in(connection, result)

    def once(self, name: str, step: Callable[[], Any]) -> Any:
        """Do a step unless an earlier attempt has recorded it, and return its result as JSON has it.

        `await run.once("charge", charge)` in an async job; in a plain function without `await`. A step that
        was done and could not be recorded is done again: pass on `run.key` where that would hurt.
        """
        return self._reached("once()").once(name, step)

    def fingerprint(self, effect: str) -> Any:
        """Keep with the run what this attempt did, such as "invoice 4711, 99.00 EUR". Returns whether every
        attempt of the run, also one before a replay, did the same.

        `await run.fingerprint(…)` in an async job; in a plain function without `await`. Put all effects of
        the attempt in one text, before `run.transaction()`. `fencepost audit` finds runs whose attempts
        differ.
        """
        return self._reached("fingerprint()").fingerprint(effect)

    def queue(self) -> None:
        """Called by the worker before an executor that `queues`: the work has not begun yet."""
        self.begun = asyncio.Event()

    def ask_to_stop(self) -> None:
        """Called by the worker; a job only reads `cancelled`."""
        self._cancelled = True

    @property
    def said(self) -> Said | None:
        """Read by the heartbeat: progress that the ledger has not got. It may be empty, and is a sign of
        progress all the same."""
        return None if self._said is self._heard else self._said

    def was_heard(self, said: Said) -> None:
        """Called by the heartbeat: the ledger has this progress."""
        self._heard = said

    def _reached(self, what: str) -> RunContext:
        if self._run_context is None:
            raise OutOfReach(
                f"run.{what} needs the ledger, which a job in a process of its own does not have"
            )
        return self._run_context


def progress_text(progress: float | str | None) -> str | None:
    """A share as a number in text, 0.4; a text as it is."""
    if progress is None:
        return None
    if isinstance(progress, bool) or not isinstance(progress, int | float):
        return storable(str(progress), PROGRESS_LENGTH_MAX)
    share = round(float(progress), SHARE_DIGITS)
    if not 0 <= share <= 1:
        raise UsageError(f"run.heartbeat: progress {progress!r}: expected a share from 0 to 1, or a text")
    return repr(share)
