"""What comes back from an enqueue: a handle on the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, cast

from fencepost.config import Settings
from fencepost.errors import ResultNotKept
from fencepost.executors.binding import Binding
from fencepost.executors.values import Unreadable
from fencepost.model.audit import PROGRAM
from fencepost.model.durations import Duration, parse_duration
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunRecord, RunState
from fencepost.operations import runs as run_operations
from fencepost.operations.control import Control
from fencepost.ports.store import Store
from fencepost.services.lookups import known_run
from fencepost.services.results import succeeded, wait_for_end

R = TypeVar("R")
T = TypeVar("T")


class Served(Protocol):
    """What a handle needs of its application."""

    @property
    def settings(self) -> Settings: ...

    async def serve(self, verb: Callable[[Store], Awaitable[T]]) -> T: ...

    def serve_plainly(self, verb: Callable[[Store], Awaitable[T]], *, waits: bool = False) -> T: ...


class Handle(Generic[R]):
    """A run that was enqueued. `created` says whether it is new, or was there already under its key."""

    def __init__(self, app: Served, run_key: RunKey, created: bool, function: Callable[..., Any]) -> None:
        self.key = run_key
        self.created = created
        self._app = app
        self._function = function

    @property
    def plain(self) -> PlainHandle[R]:
        """The same for plain code."""
        return PlainHandle(self)

    async def state(self) -> RunState:
        """Where the run stands."""
        return await self._app.serve(self.ask_state)

    async def wait(self, timeout: Duration | None = None) -> RunState:
        """Until the run has ended; the state in which it did. `WaitTimeout` where that takes longer."""
        ended: RunRecord = await self._app.serve(self.asking_for_end(timeout))
        return ended.state

    async def result(self, timeout: Duration | None = None) -> R:
        """What the run returned, in the type of its job; waits for its end. `RunFailed` where it ended
        otherwise than succeeded, with its error."""
        return await self._app.serve(self.asking_for_result(timeout))

    async def cancel(self) -> RunState:
        """End the run if it waits, ask it to stop if it runs; the state that it is in then."""
        return await self._app.serve(self.ask_to_cancel)

    def __repr__(self) -> str:
        return f"<run {self.key}>"

    async def ask_state(self, store: Store) -> RunState:
        namespace = self._app.settings.namespace
        return known_run(self.key, await store.ledger.get(namespace, self.key)).state

    def asking_for_end(self, timeout: Duration | None) -> Callable[[Store], Any]:
        timeout_s = None if timeout is None else parse_duration(timeout).total_seconds()
        return partial(self._end, timeout_s)

    def asking_for_result(self, timeout: Duration | None) -> Callable[[Store], Any]:
        return partial(self._result, self.asking_for_end(timeout))

    async def ask_to_cancel(self, store: Store) -> RunState:
        control = Control(store, self._app.settings.namespace, PROGRAM)
        return (await run_operations.cancel(control, self.key)).state

    async def _end(self, timeout_s: float | None, store: Store) -> RunRecord:
        settings = self._app.settings
        return await wait_for_end(store, settings.namespace, self.key, timeout_s, settings.poll_s)

    async def _result(self, end: Callable[[Store], Any], store: Store) -> R:
        text = await succeeded(store, self._app.settings.namespace, await end(store))
        try:
            return cast("R", Binding(self._function).returned(text))
        except Unreadable as error:
            raise ResultNotKept(f"run {self.key}: succeeded; its result: {error}") from None


class PlainHandle(Generic[R]):
    """A handle for plain code: the same verbs, each at its end when it returns."""

    def __init__(self, handle: Handle[R]) -> None:
        self.key = handle.key
        self.created = handle.created
        self._handle = handle
        self._app = handle._app

    def state(self) -> RunState:
        """See `Handle.state`."""
        return self._app.serve_plainly(self._handle.ask_state)

    def wait(self, timeout: Duration | None = None) -> RunState:
        """See `Handle.wait`."""
        ended: RunRecord = self._app.serve_plainly(self._handle.asking_for_end(timeout), waits=True)
        return ended.state

    def result(self, timeout: Duration | None = None) -> R:
        """See `Handle.result`."""
        result: R = self._app.serve_plainly(self._handle.asking_for_result(timeout), waits=True)
        return result

    def cancel(self) -> RunState:
        """See `Handle.cancel`."""
        return self._app.serve_plainly(self._handle.ask_to_cancel)

    def __repr__(self) -> str:
        return repr(self._handle)
