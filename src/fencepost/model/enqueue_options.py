"""The options of one enqueue call beside the payload."""

from __future__ import annotations

from datetime import datetime

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.enqueueing import Expires, UniqueLike, parse_expires, parse_unique
from fencepost.model.identifiers import checked_name
from fencepost.model.job import PRIORITIES


@dataclass(frozen=True, slots=True)
class EnqueueOptions:
    """The options of one enqueue call beside the payload; the job decides those that are None.

    With a `key` a second call of the same key changes nothing. A run is due at once, `at` a time, or after a
    `delay` by the store's clock. With `unique` there is only one run of this job and payload while it is
    "queued" or "unfinished", or within a period. With `expires` a run ends as missed unless it has begun by
    then (guide: runs by hand). With a `connection` it is written in the caller's own transaction.
    """

    key: str | None = None
    at: datetime | None = None
    delay: Duration | None = None
    queue: str | None = None
    priority: int | None = None
    unique: UniqueLike = None
    expires: Expires = None
    connection: object = None

    def checked(self) -> EnqueueOptions:
        """The same options, or a refusal. The key and the time are checked where the run is made."""
        if self.at is not None and self.delay is not None:
            raise UsageError("options: at and delay are two ways to say one thing; leave one out")
        if self.delay is not None:
            parse_duration(self.delay)
        parse_unique(self.unique)
        parse_expires(self.expires)
        if self.queue is not None:
            checked_name("queue", self.queue)
        if self.priority is not None and self.priority not in PRIORITIES:
            raise InvalidSpec(f"options: priority {self.priority!r}: expected one of {PRIORITIES}")
        return self


AS_THE_JOB_SAYS = EnqueueOptions()
OPTION_WORDS = frozenset(EnqueueOptions.__dataclass_fields__)
