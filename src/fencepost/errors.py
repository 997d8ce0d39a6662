"""Every error Fencepost raises on purpose.

FencepostError
├── UsageError               the call was wrong: one line, exit 2, nothing was written
│   ├── InvalidTrigger       a cron expression, interval, time or zone
│   │   └── SearchExhausted  a combination of triggers in which no fire time was found so far
│   ├── InvalidDuration      "5 parsecs"
│   ├── InvalidSettings      a setting, or two that contradict each other
│   ├── InvalidPayload       a payload that the job's signature refuses
│   ├── InvalidSpec          a job or schedule definition
│   ├── UnknownJob · UnknownSchedule · UnknownRun · UnknownCalendar · UnknownBackfill
│   ├── ScheduleExists
│   ├── SchemaMismatch       the store's schema is older or newer than this program
│   └── MissingExtra         an optional driver is not installed
├── StoreUnavailable         the store did not answer: whether it did the work is unknown
│   └── LeaseStoreUnavailable   the same of a lease store
└── RunFailure               what an attempt can die of
    ├── PermanentFailure     raised by a job: do not retry
    ├── RetryableFailure     an attempt failed and may be tried again
    ├── TimedOut             the attempt outlived the job's timeout
    └── RunCancelled         somebody asked the run to stop, or it was lost to another attempt
"""

from __future__ import annotations

from datetime import datetime, timedelta


class FencepostError(Exception):
    """The root of the tree."""


class UsageError(FencepostError):
    """The call was wrong; the message says what, where, and the mend."""


class InvalidTrigger(UsageError):
    """A trigger that cannot be, or that can never fire."""


class SearchExhausted(InvalidTrigger):
    """A search for a fire time was cut; there is none up to and including `searched_through`."""

    def __init__(self, message: str, searched_through: datetime) -> None:
        super().__init__(message)
        self.searched_through = searched_through


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


class UnknownBackfill(UsageError):
    """No backfill of that number."""


class ScheduleExists(UsageError):
    """A schedule of that id is there already."""


class SchemaMismatch(UsageError):
    """The store's schema does not fit this program."""


class MissingExtra(UsageError):
    """An optional driver is needed and not installed."""


class StoreUnavailable(FencepostError):
    """The store could not be reached, or broke off: the outcome of the call is unknown."""


class LeaseStoreUnavailable(StoreUnavailable):
    """The lease store could not be reached, or broke off."""


class RunFailure(FencepostError):
    """What an attempt can die of; `output` is what to keep of what it had written."""

    output: str | None = None


class PermanentFailure(RunFailure):
    """Raised by a job whose failure no retry can mend."""


class RetryableFailure(RunFailure):
    """An attempt failed and may be tried again, not before `retry_after` where it says so.

    `retry_after` is a length of time ("90s", a number of seconds, a timedelta); more than a day counts as a
    day, and what is no length of time counts as not said, so that the failure itself is not lost over it.
    """

    retry_after: str | float | timedelta | None = None

    def __init__(self, message: str = "", *, retry_after: str | float | timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TimedOut(RunFailure):
    """The attempt outlived the job's timeout."""


class RunCancelled(RunFailure):
    """The attempt was asked to stop."""
