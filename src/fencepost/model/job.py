"""A job: something that can run, and how its failures are treated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Queue, checked_name
from fencepost.model.limits import JobLimit
from fencepost.model.quoting import quoted

if TYPE_CHECKING:
    from fencepost.model.message import Route

PRIORITY_FIRST, PRIORITY_DEFAULT, PRIORITY_LAST = 1, 2, 4
PRIORITIES = tuple(range(PRIORITY_FIRST, PRIORITY_LAST + 1))
PRIORITY_BEHIND = PRIORITY_LAST + 1
"""The priority of what comes after all live work: catch-up, backfill, replay. Users cannot choose it."""
LANES = (*PRIORITIES, PRIORITY_BEHIND)
ATTEMPTS_MAX = 1_000
BUDGET_DEFAULT = 0.2
DOUBLINGS_MAX = 62
BACKOFFS = ("exponential", "linear", "constant")
ERROR_NAMES_MAX = 100
AFTER_MAX = 20
"""How many jobs one may follow."""
ERROR_NAME_LENGTH_MAX = 200

ErrorKind: TypeAlias = type[BaseException] | str
ErrorKinds: TypeAlias = ErrorKind | Iterable[ErrorKind]


class Backoff(StrEnum):
    """How the delays before retries grow."""

    EXPONENTIAL = "exponential"
    """The bound doubles with each attempt; the delay is drawn between zero and the bound."""
    LINEAR = "linear"
    """`base` more per attempt."""
    CONSTANT = "constant"
    """Always `base`."""
    FUNCTION = "function"
    """As the code says. A process without the code assumes exponential delays."""


BackoffFunction: TypeAlias = Callable[[int], Duration]
"""Returns how long to wait after an attempt; 1 is the first."""
BackoffWord: TypeAlias = Literal["exponential", "linear", "constant"]
"""The words that a type checker accepts in code."""


@dataclass(frozen=True, init=False)
class Retry:
    """Delays that grow by `backoff` from `base` to `cap`. Those of "exponential" are doubled per attempt, or
    `max_doublings` times and then grow by as much each time. They have full jitter: each is drawn between
    zero and its bound. "linear" and "constant" delays are up to a tenth shorter than their bound. A function
    of the
    attempt's number (1 is the first) says the delay itself, and `cap` does not bound it.

    No attempt begins later than `deadline` after the first one began. A failure that `only` does not list,
    where it lists anything, or that `never` lists, is permanent; both match a class by its name or that of
    any of its bases. At most `budget` retries come for each first attempt, over a small reserve; beyond that
    a retry waits for the whole cap. None is no budget.
    """

    max_attempts: int
    base: timedelta
    cap: timedelta
    deadline: timedelta | None
    only: tuple[str, ...]
    never: tuple[str, ...]
    budget: float | None
    backoff: Backoff | BackoffFunction
    max_doublings: int | None

    def __init__(
        self,
        max_attempts: int = 5,
        base: Duration = "5s",
        cap: Duration = "5m",
        *,
        deadline: Duration | None = None,
        only: ErrorKinds = (),
        never: ErrorKinds = (),
        budget: float | None = BUDGET_DEFAULT,
        backoff: Backoff | BackoffWord | BackoffFunction = Backoff.EXPONENTIAL,
        max_doublings: int | None = None,
    ) -> None:
        if not 1 <= max_attempts <= ATTEMPTS_MAX:
            raise InvalidSpec(f"retry: max_attempts {max_attempts} is not within 1-{ATTEMPTS_MAX}")
        object.__setattr__(self, "max_attempts", max_attempts)
        object.__setattr__(self, "base", parse_duration(base))
        object.__setattr__(self, "cap", parse_duration(cap))
        if self.cap < self.base:
            raise InvalidSpec(f"retry: cap {cap} is shorter than base {base}")
        object.__setattr__(self, "deadline", _deadline(deadline))
        object.__setattr__(self, "only", _names("only", only))
        object.__setattr__(self, "never", _names("never", never))
        both = ", ".join(name for name in self.only if name in self.never)
        if both:
            raise InvalidSpec(f"retry: {both} stands in only and in never; leave it out of one")
        object.__setattr__(self, "budget", _budget(budget))
        object.__setattr__(self, "backoff", _backoff(backoff))
        object.__setattr__(self, "max_doublings", _doublings(max_doublings, self.backoff))


def error_name(kind: type[BaseException]) -> str:
    """The name under which a policy keeps a class. It has no module where that would say nothing, or would
    depend on how the program was started."""
    home = kind.__module__
    return kind.__qualname__ if home in ("builtins", "__main__") else f"{home}.{kind.__qualname__}"


def error_names(kind: type[BaseException]) -> tuple[str, ...]:
    """Every name that a policy may use for an error of this class, or of one of its bases."""
    names = (
        name
        for one in kind.__mro__
        if one is not object
        for name in (one.__name__, one.__qualname__, f"{one.__module__}.{one.__qualname__}")
    )
    return tuple(dict.fromkeys(names))


def _deadline(value: Duration | None) -> timedelta | None:
    deadline = None if value is None else parse_duration(value)
    if deadline == timedelta():
        raise InvalidSpec("retry: a deadline must be longer than nothing; for no retry say max_attempts 1")
    return deadline


def _names(word: str, kinds: ErrorKinds) -> tuple[str, ...]:
    """Each name once, in a fixed order: the order means nothing, and specs are compared by their text."""
    given = (kinds,) if isinstance(kinds, str | type) else tuple(kinds)
    if len(given) > ERROR_NAMES_MAX:
        raise InvalidSpec(f"retry: {word} lists {len(given)} errors; at most {ERROR_NAMES_MAX}")
    return tuple(sorted({_name(word, kind) for kind in given}))


def _name(word: str, kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return error_name(kind)
    if isinstance(kind, str) and len(kind) <= ERROR_NAME_LENGTH_MAX and _is_dotted(kind):
        return kind
    raise InvalidSpec(
        f"retry: {word} {quoted(kind)}: expected an exception class, or its name such as "
        "ConnectionError or shop.errors.Busy"
    )


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() or part == "<locals>" for part in name.split("."))


def _budget(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidSpec(
            f"retry: budget {quoted(value)}: expected a share of the first attempts, 0 to 1, or None"
        )
    return float(value)


def _backoff(value: object) -> Backoff | BackoffFunction:
    if isinstance(value, Backoff) or callable(value):
        return value
    if value in BACKOFFS:
        return Backoff(value)
    known = ", ".join(BACKOFFS)
    raise InvalidSpec(
        f"retry: backoff {quoted(value)}: expected {known}, or a function of the attempt's number"
    )


def _doublings(value: object, backoff: Backoff | BackoffFunction) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= DOUBLINGS_MAX:
        raise InvalidSpec(f"retry: max_doublings {quoted(value)}: expected 0 to {DOUBLINGS_MAX}, or None")
    if backoff is not Backoff.EXPONENTIAL:
        raise InvalidSpec("retry: max_doublings is for exponential backoff; leave out one of them")
    return value


class RetryWindow(StrEnum):
    """What happens to a schedule whose retries may go on for longer than its period."""

    WARN = "warn"
    """A warning is shown."""
    CAP = "cap"
    """The job's retry deadline is shortened to fit."""
    REFUSE = "refuse"


class DeliveryGuarantee(StrEnum):
    """What happens to an attempt of which it is unknown how far it came."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class AfterOn(StrEnum):
    """After which ends of its predecessors a job runs; the table is in `core.successors`."""

    SUCCESS = "success"
    FAILURE = "failure"
    ANY = "any"


RetryWindowWord: TypeAlias = Literal["warn", "cap", "refuse"]
AfterOnWord: TypeAlias = Literal["success", "failure", "any"]


@dataclass(frozen=True)
class Parameter:
    """One argument that a job takes from its payload; `kind` is a JSON type, "secret" or "secret or null" for
    the reference of a secret, or "any"."""

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
    progress_deadline: timedelta | None = None
    """How long an attempt may go on without marking its progress (`run.heartbeat`)."""
    external: bool = False
    """Workers outside this program carry it out; they ask for runs over HTTP."""
    limit: JobLimit | None = None
    """The limits of the job across the fleet."""
    secrets: tuple[str, ...] = ()
    """The names of the application's secrets, where the job takes any."""
    message: Route | None = None
    """How a message broker gets its runs; None: it does not."""
    after: tuple[JobName, ...] = ()
    """The jobs that it follows: the runs of one job each, of several jobs those that belong together."""
    after_on: AfterOn = AfterOn.SUCCESS
    renamed_from: tuple[JobName, ...] = ()
    """The names that it had before, the first one first."""
    retry_window: RetryWindow = RetryWindow.WARN
    """What happens to its schedules whose period its retries may outgrow."""

    @property
    def key_name(self) -> JobName:
        """The name in the keys of its runs: the first that the job ever had. So a key that was used before
        the job was renamed is still taken."""
        return self.renamed_from[0] if self.renamed_from else self.name

    @property
    def is_done_elsewhere(self) -> bool:
        """Whether no worker of this program carries it out: workers that ask over HTTP do, or processors."""
        return self.external or self.message is not None

    def __post_init__(self) -> None:
        checked_name("job", self.name)
        checked_name("queue", self.queue)
        if self.timeout is not None and self.timeout <= timedelta():
            raise InvalidSpec(
                f"job {self.name}: a timeout must be longer than nothing; leave it out for none"
            )
        if self.progress_deadline is not None and self.progress_deadline <= timedelta():
            raise InvalidSpec(
                f"job {self.name}: a progress_deadline must be longer than nothing; leave it out for none"
            )
        _check_key(self)
        _check_after(self)
        if self.is_done_elsewhere and not isinstance(self.retry.backoff, Backoff):
            raise InvalidSpec(
                f"job {self.name}: a backoff function is for jobs that are done here; "
                f"name one of {', '.join(BACKOFFS)}"
            )
        for old in self.renamed_from:
            checked_name("job", old)
            if old == self.name:
                raise InvalidSpec(f"job {self.name}: renamed_from names the job itself; name the one before")
        if self.priority not in PRIORITIES:
            raise InvalidSpec(
                f"job {self.name}: priority {self.priority} is not within "
                f"{PRIORITY_FIRST} (first) to {PRIORITY_LAST} (last)"
            )


def _check_after(spec: JobSpec) -> None:
    """The ends of its predecessors enqueue its runs, and they give no payload."""
    if len(spec.after) > AFTER_MAX:
        raise InvalidSpec(f"job {spec.name}: after lists {len(spec.after)} jobs; at most {AFTER_MAX}")
    for name in spec.after:
        checked_name("job", name)
    required = ", ".join(one.name for one in spec.parameters if one.required)
    if spec.after and required:
        raise InvalidSpec(
            f"job {spec.name}: after: its runs come without a payload, and it requires {required}; "
            "give defaults, and read run.after"
        )


def _check_key(spec: JobSpec) -> None:
    """A key that no payload can have would put all runs into one slot."""
    key = None if spec.limit is None else spec.limit.key
    names = [one.name for one in spec.parameters]
    if key is not None and not spec.open_payload and key not in names:
        taken = ", ".join(names) or "none"
        raise InvalidSpec(f"job {spec.name}: concurrency_key {key}: no such parameter; it takes {taken}")
