"""A job: something that can run, and how its failures are treated."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from fencepost.errors import InvalidSpec
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Queue, checked_name

PRIORITY_FIRST, PRIORITY_DEFAULT, PRIORITY_LAST = 1, 2, 4
PRIORITIES = tuple(range(PRIORITY_FIRST, PRIORITY_LAST + 1))
ATTEMPTS_MAX = 1_000


@dataclass(frozen=True, init=False)
class Retry:
    """Exponential with full jitter: a delay drawn from 0 to `base` doubled per attempt, at most `cap`."""

    max_attempts: int
    base: timedelta
    cap: timedelta

    def __init__(self, max_attempts: int = 5, base: Duration = "5s", cap: Duration = "5m") -> None:
        if not 1 <= max_attempts <= ATTEMPTS_MAX:
            raise InvalidSpec(f"retry: max_attempts {max_attempts} is not within 1-{ATTEMPTS_MAX}")
        object.__setattr__(self, "max_attempts", max_attempts)
        object.__setattr__(self, "base", parse_duration(base))
        object.__setattr__(self, "cap", parse_duration(cap))
        if self.cap < self.base:
            raise InvalidSpec(f"retry: cap {cap} is shorter than base {base}")


@dataclass(frozen=True)
class Parameter:
    """One argument that a job takes from its payload; `kind` is a JSON type, or "any"."""

    name: str
    required: bool
    kind: str = "any"


@dataclass(frozen=True)
class JobSpec:
    """What the store knows of a job; the code behind it lives only in the worker's registry."""

    name: JobName
    queue: Queue = DEFAULT_QUEUE
    priority: int = PRIORITY_DEFAULT
    retry: Retry = field(default_factory=Retry)
    timeout: timedelta | None = None
    at_most_once: bool = False
    parameters: tuple[Parameter, ...] = ()
    open_payload: bool = False

    def __post_init__(self) -> None:
        checked_name("job", self.name)
        checked_name("queue", self.queue)
        if self.timeout is not None and self.timeout <= timedelta():
            raise InvalidSpec(
                f"job {self.name}: a timeout must be longer than nothing; leave it out for none"
            )
        if self.priority not in PRIORITIES:
            raise InvalidSpec(
                f"job {self.name}: priority {self.priority} is not within "
                f"{PRIORITY_FIRST} (first) to {PRIORITY_LAST} (last)"
            )
