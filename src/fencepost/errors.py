"""Every error Fencepost raises on purpose.

FencepostError
├── UsageError               the call was wrong: one line, exit 2, nothing was written
│   ├── InvalidTrigger       a cron expression, interval, time or zone
│   │   └── SearchExhausted  a combination of triggers in which no fire time was found so far
│   ├── SearchTooLong        a search for fire times that took longer than a server searches
│   ├── InvalidDuration      "5 parsecs"
│   ├── InvalidSettings      a setting, or two that contradict each other
│   ├── InvalidPayload       a payload that the job's signature refuses
│   ├── InvalidSpec          a job or schedule definition
│   ├── UnknownJob · UnknownSchedule · UnknownRun · UnknownCalendar · UnknownBackfill · UnknownToken
│   ├── UnknownNode · UnknownGate · UnknownTarget
│   ├── ScheduleExists · ScheduleChanged · CalendarChanged
│   ├── NotAllowed           more than the credential is good for
│   ├── QuotaExceeded        more than the namespace may use of a shared store
│   ├── SchemaMismatch       the store's schema is older or newer than this program
│   ├── MissingExtra         an optional driver is not installed
│   ├── BrokerRefused        the message broker says no: waiting does not help, a change of settings may
│   ├── UnfitConnection      a connection that cannot carry a write of the ledger
│   └── OutOfReach           asked of a run that is far from its ledger
├── BadSignature             a webhook that is not from whom it should be
├── StoreUnavailable         the store did not answer: whether it did the work is unknown
│   ├── LeaseStoreUnavailable   the same of a lease store
│   └── StoreReplaced        the store is not the one that this process began with: the process ends
├── BrokerUnavailable        the message broker cannot be reached at the moment
├── TurnedAway               a server that is full or stopping: ask again later
├── WaitTimeout              a run that had not ended when the time to wait for it was up
├── RunFailed                a run whose result was asked for, and that ended without one
├── ResultNotKept            a result that the ledger does not have, or not all of it
└── RunFailure               what an attempt can die of
    ├── PermanentFailure     raised by a job: do not retry
    │   └── StepRefused      a recorded step whose name, number or result cannot be kept
    ├── RetryableFailure     an attempt failed and may be tried again
    │   └── Snooze           raised by a job: again later, and no attempt is spent
    ├── RemoteFailure        an error that was raised in another process, as text
    ├── TimedOut             the attempt outlived the job's timeout
    ├── NoProgress           the attempt showed no progress for longer than the job's progress deadline
    ├── RunLost              the run belongs to a later attempt, or has ended: write nothing more
    └── StaleFence           a guarded write was refused: a later attempt has written already
"""

from __future__ import annotations

from datetime import datetime, timedelta


class FencepostError(Exception):
    """The root of the tree."""


class UsageError(FencepostError):
    """The call was wrong; the message says what, where, and the fix."""


class InvalidTrigger(UsageError):
    """A trigger that cannot be, or that can never fire."""


class SearchExhausted(InvalidTrigger):
    """A search for a fire time was cut; there is none up to and including `searched_through`."""

    def __init__(self, message: str, searched_through: datetime) -> None:
        super().__init__(message)
        self.searched_through = searched_through


class SearchTooLong(UsageError):
    """A search for fire times took longer than it may here; of the trigger that says nothing."""


class InvalidDuration(UsageError):
    """A text that is not a length of time."""


class InvalidSettings(UsageError):
    """A setting out of its range, or settings that contradict each other."""


class InvalidPayload(UsageError):
    """A payload that does not fit the job."""


class InvalidSpec(UsageError):
    """A job or a schedule that is defined wrongly."""


class UnknownJob(UsageError):
    """No job of that name is registered in the store."""


class UnknownSchedule(UsageError):
    """No schedule of that id."""


class UnknownRun(UsageError):
    """No run of that key."""


class UnknownCalendar(UsageError):
    """No calendar of that name."""


class UnknownToken(UsageError):
    """No token or session of that id."""


class UnknownBackfill(UsageError):
    """No backfill of that number."""


class UnknownNode(UsageError):
    """No live node of that id."""


class UnknownTarget(UsageError):
    """A notification target that does not exist."""


class UnknownGate(UsageError):
    """No closed gate of that schedule."""


class ScheduleChanged(UsageError):
    """Another writer was quicker: the version is not the expected one any more."""


class CalendarChanged(UsageError):
    """Another writer was quicker: the revision is not the expected one any more."""


class ScheduleExists(UsageError):
    """A schedule of that id is there already."""


class NotAllowed(UsageError):
    """The caller's credential does not allow this."""


class QuotaExceeded(UsageError):
    """More than the quota of a namespace, whose name is `quota`. The same may be asked for again after
    `retry_in_s`, where time alone helps."""

    def __init__(self, message: str, quota: str, retry_in_s: int | None = None) -> None:
        super().__init__(message)
        self.quota = quota
        self.retry_in_s = retry_in_s


class SchemaMismatch(UsageError):
    """The store's schema does not fit this program."""


class MissingExtra(UsageError):
    """An optional driver is needed and not installed."""


class UnfitConnection(UsageError):
    """A connection of an unknown driver, to another database, or that commits each statement by itself."""


class OutOfReach(UsageError):
    """Something that only a run beside its ledger can do."""


class BadSignature(FencepostError):
    """A webhook that is not from whom it should be, or is too old or too early."""


class StoreUnavailable(FencepostError):
    """The store could not be reached, or broke off: the outcome of the call is unknown."""


class LeaseStoreUnavailable(StoreUnavailable):
    """The lease store could not be reached, or broke off."""


class StoreReplaced(StoreUnavailable):
    """The store's files were deleted or replaced, or it was restored from a backup. It does not come back:
    waiting is no use, and a process that goes on works on a second ledger."""


class BrokerUnavailable(FencepostError):
    """The message broker could not be reached, or broke off."""


class BrokerRefused(UsageError):
    """The message broker refused: wrong credentials, a missing right, a destination that does not fit."""


class TurnedAway(FencepostError):
    """A server has no place for one more who waits, or is about to stop."""


class WaitTimeout(FencepostError, TimeoutError):
    """A run had not ended when the time to wait for it was up; it goes on."""


class RunFailed(FencepostError):
    """A run whose result was asked for ended without one. `state` says how, `error` is what its last attempt
    failed with, `detail` the traceback of that attempt, as text."""

    def __init__(self, message: str, state: str, error: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.state = state
        self.error = error
        self.detail = detail


class ResultNotKept(FencepostError):
    """A run succeeded, and the ledger does not have what it returned, or not all of it."""


class RunFailure(FencepostError):
    """What an attempt can die of; `output` is what to keep of what it had written."""

    output: str | None = None


class PermanentFailure(RunFailure):
    """Raised by a job whose failure no retry can repair."""


class StepRefused(PermanentFailure):
    """A step that cannot be recorded; trying again would only do it again."""


class RetryableFailure(RunFailure):
    """An attempt failed and may be tried again, not before `retry_after` where it says so.

    `retry_after` is a length of time ("90s", a number of seconds, a timedelta); more than a day counts as a
    day, and what is no length of time counts as not said, so that the failure itself is not lost over it.
    """

    retry_after: str | float | timedelta | None = None

    def __init__(self, message: str = "", *, retry_after: str | float | timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Snooze(RetryableFailure):
    """Raised by a job that cannot do its work yet: again after `wait`, and the attempt does not count.

    `wait` is a length of time, a day at most; one of nothing, or that cannot be read, makes it a failure like
    any other. `why` stands in the run's log and in its reason. A run snoozes for as long as its retry
    deadline, or a week, lets it, and a thousand times at most; then it is dead.
    """

    def __init__(self, wait: str | float | timedelta, why: str = "") -> None:
        super().__init__(why, retry_after=wait)


class RemoteFailure(RunFailure):
    """An error that was raised in another process, told as text: its class never comes here.

    `kinds` are the names of its class and of its bases; `permanent` and `retry_after` what it was there.
    """

    def __init__(
        self,
        error: str,
        *,
        detail: str | None = None,
        kinds: tuple[str, ...] = (),
        permanent: bool = False,
        retry_after: str | float | None = None,
    ) -> None:
        super().__init__(error)
        self.detail = detail
        self.kinds = kinds
        self.permanent = permanent
        self.retry_after = retry_after


class TimedOut(RunFailure):
    """The attempt outlived the job's timeout."""


class NoProgress(RunFailure):
    """The attempt did not say that it gets on for longer than the job's progress deadline."""


class RunLost(RunFailure):
    """The attempt does not own its run any more; nothing that it was about to write may be written."""


class StaleFence(RunFailure):
    """A guard refused a write because a later attempt has written already."""
