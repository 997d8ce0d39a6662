"""The recorded steps of one attempt: each is done once, as far as the ledger can know.

The first step reads what earlier attempts recorded, under this attempt's ownership; no other attempt can add
to it while this one owns the run. A step that is not recorded is done, and its result is recorded before it
is returned. Between the two lies the only gap: a crash there leaves a step that was done and is not recorded,
and the next attempt does it again. The key of the run and the name of the step, passed on as an idempotency
key, close that gap in the system that the step calls.

A result comes back as JSON has it, the first time and every later time, so that a job does not behave
differently when it is tried again. A result that cannot be kept (no JSON, or too long) is a permanent
failure: the step was done, and trying again would do it again.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from functools import partial
from typing import Any

from fencepost.core.fingerprints import check_single, fingerprint_of, fingerprints, is_fingerprint, step_of
from fencepost.core.masking import masked_text
from fencepost.errors import RunLost, StepRefused, StoreUnavailable
from fencepost.model.quoting import quoted
from fencepost.model.run import Ticket
from fencepost.ports.store import Store
from fencepost.telemetry.secrets import mask

STEPS_MAX = 100
STEP_NAME_LENGTH_MAX = 200
RESULT_BYTES_MAX = 64 * 1024
RECORD_TRIES_MAX = 8
RECORD_FIRST_REST_S = 0.1
RECORD_REST_MAX_S = 5.0

_STRICT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_INSIDE: ContextVar[frozenset[str]] = ContextVar("fencepost_steps_inside", default=frozenset())


class Steps:
    """Belongs to one attempt, and is used in its event loop."""

    def __init__(self, store: Store, ticket: Ticket) -> None:
        self._store = store
        self._ticket = ticket
        self._recorded: dict[str, str] | None = None
        self._reading = asyncio.Lock()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def once(self, name: str, step: Callable[[], Any]) -> Any:
        """The step's result: the recorded one, or that of doing it now. `step` may return an awaitable."""
        _check_name(name)
        if name in _INSIDE.get():
            raise StepRefused(f"step {quoted(name)} of {self._ticket.run_key}: it would wait for itself")
        async with self._turns[name]:
            recorded = await self._known()
            if name not in recorded:
                self._check_room(recorded)
                recorded[name] = await self._record(name, await _done(name, step))
            return json.loads(recorded[name])

    async def fingerprint(self, effect: str) -> bool:
        """Keep what the effect of this attempt was; returns whether no earlier attempt had another."""
        _check_effect(effect)
        mine = fingerprint_of(self._ticket.attempt, masked_text(mask(effect)))
        recorded = await self._known()
        name, text = step_of(mine)
        recorded[name] = recorded.get(name) or await self._record(name, text)
        found = fingerprints(recorded)
        check_single(mine, found[-1])
        return all(one.digest == mine.digest for one in found)

    def once_from_thread(self, name: str, step: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Any:
        """The same for a job in a thread, which waits. The step is called in that thread: in the loop it
        would block all others."""
        wanted: Future[asyncio.Future[Any] | None] = Future()

        async def in_the_thread() -> Any:
            done: asyncio.Future[Any] = loop.create_future()
            wanted.set_result(done)
            result = await done
            return await result if inspect.isawaitable(result) else result

        answer = asyncio.run_coroutine_threadsafe(self.once(name, in_the_thread), loop)
        answer.add_done_callback(lambda _: _unless_done(wanted))
        done = wanted.result()
        if done is not None:
            loop.call_soon_threadsafe(_told(done, step))
        return answer.result()

    async def _known(self) -> dict[str, str]:
        async with self._reading:
            if self._recorded is None:
                book, ticket = self._store.steps, self._ticket
                self._recorded = dict(await book.recorded(ticket.namespace, ticket.run_key))
            return self._recorded

    def _check_room(self, recorded: dict[str, str]) -> None:
        """Steps under way count as recorded."""
        steps = {name for name in recorded if not is_fingerprint(name)}
        if len(steps | self._turns.keys()) > STEPS_MAX:
            raise StepRefused(
                f"run {self._ticket.run_key} has {STEPS_MAX} recorded steps, and there can be no more; "
                "make several runs of it"
            )

    async def _record(self, name: str, result: str) -> str:
        """The step is done: a store that is away for a moment must not cause it to be done again."""
        for number in range(RECORD_TRIES_MAX - 1):
            try:
                return await self._record_once(name, result)
            except StoreUnavailable:
                await asyncio.sleep(min(RECORD_FIRST_REST_S * (1 << number), RECORD_REST_MAX_S))
        return await self._record_once(name, result)

    async def _record_once(self, name: str, result: str) -> str:
        standing = await self._store.steps.record(self._ticket, name, result)
        if standing is None:
            what = "run.fingerprint: it" if is_fingerprint(name) else f"step {quoted(name)} was done and"
            raise RunLost(f"{what} is not recorded: the run belongs to a later attempt")
        return standing


def _unless_done(wanted: Future[asyncio.Future[Any] | None]) -> None:
    """It ended without the step: it was recorded, or the lookup failed."""
    if not wanted.done():
        wanted.set_result(None)


def _told(done: asyncio.Future[Any], step: Callable[[], Any]) -> Callable[[], None]:
    """Do the step in this thread; returns how to pass the result to the future in its loop."""
    try:
        return partial(_tell, done, step(), None)
    except (StopIteration, GeneratorExit) as error:
        # Exceptions that steer generators cannot leave a thread through a future.
        return partial(_tell, done, None, RuntimeError(f"the step raised {type(error).__name__}"))
    except BaseException as error:
        return partial(_tell, done, None, error)


def _tell(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Where the loop has been stopped meanwhile, no caller waits any more."""
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


async def _done(name: str, step: Callable[[], Any]) -> str:
    """Do the step; its result as it will be kept."""
    inside = _INSIDE.set(_INSIDE.get() | {name})
    try:
        result = step()
        if inspect.isawaitable(result):
            result = await result
    finally:
        _INSIDE.reset(inside)
    return _kept(name, result)


def _kept(name: str, result: Any) -> str:
    try:
        text = _STRICT.encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        raise StepRefused(
            f"step {quoted(name)} was done, and its result is not JSON: {error}; nothing is recorded"
        ) from None
    if len(text) > RESULT_BYTES_MAX:
        raise StepRefused(
            f"step {quoted(name)} was done, and its result has {len(text)} bytes, at most {RESULT_BYTES_MAX} "
            "can be kept; nothing is recorded: return what names it instead"
        )
    return text


def _check_effect(effect: object) -> None:
    if not isinstance(effect, str) or not effect.strip():
        raise StepRefused(f"run.fingerprint({quoted(effect)}): expected a text that says what was done")


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > STEP_NAME_LENGTH_MAX:
        raise StepRefused(f"step {quoted(name)}: expected a name of 1 to {STEP_NAME_LENGTH_MAX} characters")
    if not name.isprintable():
        raise StepRefused(f"step {quoted(name)}: its name holds what cannot be shown")
