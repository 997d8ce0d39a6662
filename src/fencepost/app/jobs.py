"""What `@app.job()` makes of a function: it can still be called, and its runs can be enqueued.

The payload of a call has the names and types of the function's own parameters, without the run. What the call
says beside it is in options of its own, so that a parameter may be called `key` or `at`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from functools import update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from fencepost.app import deferred
from fencepost.app.specs import JOB_MARK
from fencepost.errors import InvalidPayload, UsageError
from fencepost.executors.binding import FUNCTION_MARK
from fencepost.model.driving import then
from fencepost.model.durations import Duration
from fencepost.model.enqueue_options import AS_THE_JOB_SAYS, EnqueueOptions
from fencepost.model.enqueueing import Entered, Expires, UniqueLike
from fencepost.model.identifiers import RunKey, job_key
from fencepost.model.json import JsonObject
from fencepost.ports.executor import Job
from fencepost.ports.run import Run

if TYPE_CHECKING:
    from fencepost.app.handles import Handle, PlainHandle
    from fencepost.config import Settings
    from fencepost.ports.store import Store

P = ParamSpec("P")
"""What the payload has: the function's parameters without the run."""
D = ParamSpec("D")
"""What a direct call takes: all of them."""
R = TypeVar("R")
"""What the function returns, awaited where it is async."""
C = TypeVar("C")
"""What a direct call returns."""
S = TypeVar("S")
Verb: TypeAlias = "Callable[[Store], Awaitable[S]]"
"""What is asked of the store, wherever that is open."""


def run_names(
    count: int, key: str | None, keys: Sequence[str] | None, new_key: Callable[[], str]
) -> Sequence[str]:
    """The keys of `count` runs: those given, or new ones."""
    if keys is not None:
        if len(keys) != count:
            raise UsageError(f"keys: {len(keys)} for {count} payloads; give one for each")
        return keys
    if key is not None:
        if count != 1:
            raise UsageError("options: one key for many runs; give keys=[…], one for each payload")
        return [key]
    stem = new_key()
    return [stem] if count == 1 else [f"{stem}-{number:06}" for number in range(count)]


class JobEnqueuer(Protocol):
    """What a job needs of its application."""

    @property
    def jobs(self) -> Mapping[Any, Job]: ...

    def begin_enqueue(
        self,
        job: str,
        payloads: Sequence[JsonObject],
        options: EnqueueOptions,
        keys: Sequence[str] | None = None,
    ) -> Coroutine[Any, Any, list[Entered]]: ...

    def enqueue_plainly(
        self,
        job: str,
        payloads: Sequence[JsonObject],
        options: EnqueueOptions,
        keys: Sequence[str] | None = None,
    ) -> list[Entered]: ...

    @property
    def settings(self) -> Settings: ...

    async def serve(self, verb: Verb[S]) -> S: ...

    def serve_plainly(self, verb: Verb[S], *, waits: bool = False) -> S: ...


class JobCall(Generic[P, R]):
    """A job with the options of one call."""

    def __init__(
        self,
        app: JobEnqueuer,
        name: str,
        function: Callable[..., Any],
        options: EnqueueOptions = AS_THE_JOB_SAYS,
    ) -> None:
        self._app = app
        self._name = name
        self._function = function
        self._options = options

    @property
    def name(self) -> str:
        """The name under which the job is registered."""
        return self._name

    def options(
        self,
        *,
        key: str | None = None,
        at: datetime | None = None,
        delay: Duration | None = None,
        queue: str | None = None,
        priority: int | None = None,
        unique: UniqueLike = None,
        expires: Expires = None,
        connection: object = None,
    ) -> JobCall[P, R]:
        """The same job, with options for what is enqueued with it: `EnqueueOptions` says what each does."""
        chosen = EnqueueOptions(key, at, delay, queue, priority, unique, expires, connection)
        return JobCall(self._app, self._name, self._function, chosen.checked())

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Handle[R]]:
        """One run: `handle = await resize.enqueue(image_id=7)`. In plain code see `delay`."""
        payload = self._payload(args, kwargs)
        asked = self._app.begin_enqueue(self._name, [payload], self._options)
        return then(asked, lambda made: self._handle(*made[0]))

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> PlainHandle[R]:
        """The same in plain code, in any thread, with or without an event loop. It is there when this
        returns; with a `connection`, when the caller commits."""
        payload = self._payload(args, kwargs)
        made = self._app.enqueue_plainly(self._name, [payload], self._options)
        return self._handle(*made[0]).plain

    def enqueue_many(
        self, payloads: Iterable[Mapping[str, Any]], keys: Sequence[str] | None = None
    ) -> Coroutine[Any, Any, list[Handle[R]]]:
        """Many runs with the same options, a thousand in one write; `keys` has one for each of them."""
        given = [dict(payload) for payload in payloads]
        asked = self._app.begin_enqueue(self._name, given, self._options, keys)
        return then(asked, lambda made: [self._handle(*one) for one in made])

    def delay_many(
        self, payloads: Iterable[Mapping[str, Any]], keys: Sequence[str] | None = None
    ) -> list[PlainHandle[R]]:
        """The same in plain code."""
        given = [dict(payload) for payload in payloads]
        made = self._app.enqueue_plainly(self._name, given, self._options, keys)
        return [self._handle(*one).plain for one in made]

    def handle(self, key: str) -> Handle[R]:
        """The handle of a run that was enqueued before, here or elsewhere, by its `key`."""
        return self._handle(job_key(self._app.jobs[self._name].spec.key_name, key), False)

    def _handle(self, run_key: RunKey, created: bool) -> Handle[R]:
        return deferred.Handle(self._app, run_key, created, self._function)

    def _payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JsonObject:
        """The arguments by their names."""
        if not args:
            return kwargs
        names = [one.name for one in self._app.jobs[self._name].spec.parameters]
        if len(args) > len(names):
            known = ", ".join(names) or "none"
            raise InvalidPayload(f"payload: {len(args)} values without a name; the job takes: {known}")
        placed = dict(zip(names, args, strict=False))
        for name in placed.keys() & kwargs.keys():
            raise InvalidPayload(f"payload: {name!r} is given twice")
        return placed | kwargs


class JobFunction(JobCall[P, R], Generic[P, R, D, C]):
    """A function that is a job: called, it is the function; enqueued, it is a run."""

    def __init__(self, app: JobEnqueuer, name: str, function: Callable[..., Any]) -> None:
        super().__init__(app, name, function)
        update_wrapper(self, function, updated=())
        setattr(self, JOB_MARK, name)
        setattr(self, FUNCTION_MARK, function)

    def __call__(self, *args: D.args, **kwargs: D.kwargs) -> C:
        result: C = self._function(*args, **kwargs)
        return result

    def __reduce__(self) -> str:
        """Pickled as a function is: by the name of its place in its module."""
        return str(vars(self)["__qualname__"])

    def __repr__(self) -> str:
        return f"<job {self._name}: {self._function!r}>"


class Registrar(Protocol):
    """What makes a function a job."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Run, P], Coroutine[Any, Any, R]], /
    ) -> JobFunction[P, R, Concatenate[Run, P], Coroutine[Any, Any, R]]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[Run, P], R], /
    ) -> JobFunction[P, R, Concatenate[Run, P], R]: ...

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> JobFunction[P, R, P, Coroutine[Any, Any, R]]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> JobFunction[P, R, P, R]: ...


def function_of(job: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, where it is a job already."""
    found: Callable[..., Any] = getattr(job, FUNCTION_MARK, job)
    return found
