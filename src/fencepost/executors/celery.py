"""Celery tasks as jobs: an attempt sends one task, and may wait for its result.

The Celery application comes in as a value; nothing of Celery is imported here.

The ledger is authoritative for the run, Celery for the task. What joins them is the id of the task:

- *Sent only*: the id is made of the run's key. The attempt succeeds when the broker has the message. An
  attempt asks the ledger right before it sends whether the run is still its own, and a process that stalled
  after that does not send any more (`SEND_WITHIN_S`). A later attempt does not know whether an earlier one
  sent: it looks for the id in the result backend first, and sends under the same id where nothing is found.
- *Tracked*: the id is made of the run's key and the attempt. The attempt is recorded in the run's steps
  before it sends, so that no attempt sends twice. It ends as its task ends. An attempt that gave its task up,
  by a timeout or a cancellation, records that: whatever the task does later changes nothing. An attempt that
  was lost with its worker did not give up: the next one follows the task that goes on, or sends its own.

Sends of one application take turns on one connection: neither kombu's connections nor a publisher's confirms
are made for several threads. Blocking calls are made in threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar
from uuid import UUID, uuid5

from fencepost.clock import Clock, SystemClock
from fencepost.errors import PermanentFailure, RemoteFailure, RetryableFailure
from fencepost.executors.binding import kept_result
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.model.faults import words_of
from fencepost.model.job import error_names
from fencepost.model.json import JsonObject
from fencepost.model.times import to_utc_text
from fencepost.ports.run import Run

T = TypeVar("T")
IDS = UUID("5f0c1c2e-7a55-4d0b-9d2b-0f6a3c1e8b47")
SEND_WITHIN_S = 10.0
"""A third of the time after which a silent run is rescued, where nothing else is set."""
THREADS_MAX = 8
PATIENCE = {"max_retries": 2, "interval_start": 0.2, "interval_step": 0.2, "interval_max": 0.4}
POLL_FIRST_S, POLL_MAX_S, POLL_FACTOR = 0.1, 2.0, 1.5
REVOKE_WITHIN_S = 4.0
UNREADABLE = ("", "disabled", "rpc", "amqp")
"""Result backends that are none, or that only the process that sent the task can read."""
UNSENDABLE = frozenset(
    {"TypeError", "ValueError", "SerializationError", "SerializerNotInstalled", "QueueNotFound"}
)
"""Errors of a message that cannot be made; trying again makes none either."""


@dataclass(frozen=True)
class Call:
    """What a task is called with."""

    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


class Sender:
    """Sends the tasks of one Celery application. Its methods block, so they are called in its threads: a
    broker that does not answer holds up nothing else."""

    def __init__(
        self, celery: Any, *, send_within_s: float = SEND_WITHIN_S, clock: Clock | None = None
    ) -> None:
        self.threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="fencepost-celery")
        self._celery = celery
        self._clock = clock or SystemClock()
        self._send_within_s = send_within_s
        self._turn = threading.Lock()
        self._connection: Any = None
        self._channel: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it holds a connection to the broker."""
        return self._connection is not None

    def now(self) -> Monotonic:
        return self._clock.monotonic()

    def send(
        self, task: str, call: Call, task_id: str, options: Mapping[str, Any], asked: Monotonic, run: Run
    ) -> None:
        """Return when the broker has the task; `asked` is when the run was known to be the attempt's own."""
        with self._turn:
            try:
                connection = self._connected()
                self._check_fresh(asked, run)
                self._publish(task, call, task_id, options, connection)
            except (PermanentFailure, RetryableFailure):
                raise
            except Exception as error:
                self._let_go()
                _refuse(task, error)

    def close(self) -> None:
        """Let the connection go, once what is being sent is; the next send makes a new one."""
        with self._turn:
            self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.release()
            except Exception:
                return

    def state(self, task_id: str) -> Mapping[str, Any] | None:
        """What the result backend has of a task; None where it has nothing, or cannot be asked."""
        if not reads_results(self._celery):
            return None
        found: Mapping[str, Any] = self._celery.backend.get_task_meta(task_id, cache=False)
        return None if found["status"] == "PENDING" else found

    def revoke(self, task_id: str) -> None:
        """Ask all workers to drop the task, or to end it."""
        self._celery.control.revoke(task_id, terminate=True)

    def _connected(self) -> Any:
        """A connection with an open channel. Left to itself, a channel would be waited for without an end."""
        if self._connection is None:
            connection = self._celery.connection_for_write()
            if connection.transport.driver_type == "amqp":
                confirmed = {"confirm_publish": True}
                connection = self._celery.connection_for_write(transport_options=confirmed)
            self._connection = connection
        self._connection.ensure_connection(**PATIENCE)
        self._channel = self._connection.default_channel
        return self._connection

    def _check_fresh(self, asked: Monotonic, run: Run) -> None:
        if run.cancelled or elapsed_s(asked, self.now()) > self._send_within_s:
            raise RetryableFailure("stalled before it was sent: nothing was sent by this attempt")

    def _publish(
        self, task: str, call: Call, task_id: str, options: Mapping[str, Any], connection: Any
    ) -> None:
        registered = self._celery.tasks.get(task)
        said = {**options, "task_id": task_id, "connection": connection}
        args, kwargs = list(call.args), dict(call.kwargs)
        if registered is None:
            result = self._celery.send_task(task, args, kwargs, **said)
        else:
            result = registered.apply_async(args, kwargs, **said)
        if not self._celery.conf.task_always_eager:
            # A Redis backend has subscribed to the result, and would stay so for good.
            self._celery.backend.remove_pending_result(result)


class CeleryExecutor:
    """One task of a Celery application."""

    def __init__(
        self,
        sender: Sender,
        task: str,
        *,
        options: Mapping[str, Any],
        track: bool = False,
        call: Callable[[JsonObject], Call] | None = None,
    ) -> None:
        self._sender = sender
        self._task = task
        self._options = options
        self._track = track
        self._call = call or _by_name
        self.stoppable = track

    def check(self, payload: JsonObject) -> None:
        self._call(payload)

    async def close(self) -> None:
        """See `ports.executor`."""
        await self._in_thread(self._sender.close)

    async def execute(self, run: Run) -> str | None:
        return await (self._follow(run) if self._track else self._send_once(run))

    async def _send_once(self, run: Run) -> str | None:
        task_id = task_id_of(run)
        is_first = run.attempt - run.claim.attempts_before_replay == 1
        if not is_first and await self._in_thread(self._sender.state, task_id) is not None:
            return f"task {task_id}: sent by an earlier attempt"
        asked = self._sender.now()
        async with run.transaction(complete=False):
            """The run is still this attempt's."""
        await self._send(run, task_id, asked)
        return f"task {task_id}"

    async def _follow(self, run: Run) -> str | None:
        followed = await self._earlier_task(run)
        asked = self._sender.now()
        attempt = await run.once(_task_step(run.attempt), lambda: followed or run.attempt)
        task_id = task_id_of(run, attempt)
        try:
            if not followed:
                await self._send(run, task_id, asked)
            run.log(f"task {task_id}: {'followed' if followed else 'sent'}")
            return await self._outcome(run, task_id)
        except asyncio.CancelledError:
            if not run.is_handed_on:
                await self._give_up(run, task_id)
            raise

    async def _earlier_task(self, run: Run) -> int | None:
        """The attempt whose task goes on although that attempt was lost. A task that the result backend does
        not know is revoked: it may still wait in its queue."""
        for before in range(run.attempt - 1, run.claim.attempts_before_replay, -1):
            attempt = await run.once(_task_step(before), lambda: None)
            if attempt is not None:
                break
        else:
            return None
        if await run.once(_end_step(before), lambda: None):
            return None
        task_id = task_id_of(run, attempt)
        found = await self._in_thread(self._sender.state, task_id)
        if found is None:
            await self._in_thread(self._sender.revoke, task_id)
        goes_on = found is not None and found["status"] not in ("FAILURE", "REVOKED")
        return int(attempt) if goes_on else None

    async def _outcome(self, run: Run, task_id: str) -> str | None:
        pause_s, seen = POLL_FIRST_S, ""
        while True:
            try:
                found = await self._in_thread(self._sender.state, task_id)
                status = "PENDING" if found is None else str(found["status"])
            except Exception as error:
                found, status = None, f"the result backend does not answer: {words_of(error)}"
            if status != seen:
                seen = status
                run.heartbeat(note=status)
            if found is not None and status in ENDINGS:
                return ENDINGS[status](found)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * POLL_FACTOR, POLL_MAX_S)

    async def _give_up(self, run: Run, task_id: str) -> None:
        """Whatever the task does from now on is nothing to the run."""
        async with asyncio.timeout(REVOKE_WITHIN_S):
            await run.once(_end_step(run.attempt), lambda: "given up")
            await self._in_thread(self._sender.revoke, task_id)

    async def _send(self, run: Run, task_id: str, asked: Monotonic) -> None:
        headers = {**(self._options.get("headers") or {}), **headers_of(run)}
        options = {**self._options, "headers": headers}
        if self._track:
            options["ignore_result"] = False
        call = self._call(run.payload)
        await self._in_thread(self._sender.send, self._task, call, task_id, options, asked, run)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._sender.threads, work, *arguments)


def task_id_of(run: Run, attempt: int | None = None) -> str:
    """The same in every process for one run, or with an attempt for that attempt. A replay has another."""
    part = "" if attempt is None else f"/attempt/{attempt}"
    replayed = f"/replayed/{run.claim.attempts_before_replay}" if run.claim.attempts_before_replay else ""
    return str(uuid5(IDS, f"{run.claim.namespace}/{run.key}{replayed}{part}"))


def headers_of(run: Run) -> dict[str, Any]:
    """What the task's own code can look at: `self.request.headers`."""
    said = {
        "fencepost-run-key": str(run.key),
        "fencepost-schedule": run.schedule_id,
        "fencepost-fire-time": to_utc_text(run.fire_time),
        "fencepost-attempt": run.attempt,
        "fencepost-fence": run.fence,
        **run.trace_context,
    }
    return {name: value for name, value in said.items() if value is not None}


def reads_results(celery: Any) -> bool:
    """Whether any process can ask what became of a task."""
    return str(celery.conf.result_backend or "").partition(":")[0] not in UNREADABLE


def _by_name(payload: JsonObject) -> Call:
    return Call(kwargs=payload)


def _task_step(attempt: int) -> str:
    return f"task of attempt {attempt}"


def _end_step(attempt: int) -> str:
    return f"end of attempt {attempt}"


def _refuse(task: str, error: Exception) -> NoReturn:
    words = words_of(error)
    if UNSENDABLE.intersection(error_names(type(error))) and not isinstance(error, UnicodeError | OSError):
        raise PermanentFailure(f"task {task}: cannot be sent: {words}") from None
    raise RetryableFailure(f"task {task}: the broker has not taken it: {words}") from None


def _succeeded(found: Mapping[str, Any]) -> str | None:
    return kept_result(found["result"])


def _failed(found: Mapping[str, Any]) -> NoReturn:
    error, trace = found["result"], found.get("traceback")
    if isinstance(error, BaseException):
        raise RemoteFailure(words_of(error), detail=trace, kinds=error_names(type(error)))
    raise RemoteFailure(str(error), detail=trace)


def _revoked(found: Mapping[str, Any]) -> NoReturn:
    words = str(found["result"]) or "revoked"
    raise (RetryableFailure if words == "expired" else PermanentFailure)(f"the task was {words}")


ENDINGS: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {
    "SUCCESS": _succeeded,
    "FAILURE": _failed,
    "REVOKED": _revoked,
}
