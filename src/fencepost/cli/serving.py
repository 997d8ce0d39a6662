"""A node in this process, from start to a clean stop.

The first SIGINT or SIGTERM asks the node to stop: it claims nothing more and lets running work finish within
the grace. The second one skips the waiting. Before the node runs, the first is enough to give up. A function
that still runs in a thread cannot be killed; then the process ends without waiting for it, and the ledger
has its run rescued.

Two things that a job can do would keep the process from ending at all. It may block the event loop: so a
signal also starts a thread that ends the process when the grace and the longest clean stop after it are over.
And it may fork and let the copy return: two processes would then read the same sockets, and the copy would
take the signals of the other. So the copy does not get as far as the loop, and signals end it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import NoReturn, Protocol

from fencepost.app import JOB_THREAD, Fencepost
from fencepost.cli.faults import NO, guarded
from fencepost.services.offload import is_offloaded
from fencepost.telemetry.logs import Log
from fencepost.telemetry.traces.set_up import close, set_up

SIGNALS = (signal.SIGINT, signal.SIGTERM)
IDLE_THREADS_S = 0.5
STUBBORN_S = 1.0
YOUNG_OBJECTS_MAX = 10_000
LAST_RESORT_S = 30.0
"""Longer than a clean stop takes after the grace: to interrupt jobs, report, resign and leave, 5 s each."""


class Runner(Protocol):
    """What runs until it is asked to stop."""

    async def run(self, stop: asyncio.Event) -> None: ...

    def hurry(self) -> None: ...


class Stopper:
    """What the process does when it is asked to stop."""

    def __init__(self, last_resort: threading.Timer) -> None:
        self.stop = asyncio.Event()
        self._log = Log("signals")
        self._node: Runner | None = None
        self._starting = asyncio.current_task()
        self._last_resort = last_resort
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.ask, signal.Signals(number).name)
            # The loop hears of a signal by its pipe, and leaves the handler itself to us.
            signal.signal(number, self._count_down)
        os.register_at_fork(after_in_child=partial(_keep_off, loop))

    def ask(self, cause: str) -> None:
        """Stop, or hurry where that has been asked for already."""
        if self._node is None:
            assert self._starting is not None
            self._starting.cancel()
        elif self.stop.is_set():
            self._log.warning("hurrying", cause=cause)
            self._node.hurry()
        else:
            self._log.info("stopping; once more to wait for nothing", cause=cause)
            self.stop.set()

    def _count_down(self, _number: int, _frame: FrameType | None) -> None:
        """Called in the main thread between two of its steps, also where the loop does not get its turn."""
        with suppress(RuntimeError):
            self._last_resort.start()

    async def run(self, node: Runner, for_s: float | None = None) -> None:
        """Run the node until it is asked to stop, or for so long."""
        self._node = node
        if for_s is not None:
            asyncio.get_running_loop().call_later(for_s, self.stop.set)
        with settled_memory():
            await node.run(self.stop)


@contextmanager
def settled_memory() -> Iterator[None]:
    """What a process has loaded by now it keeps. Not looking through it again for garbage spares it pauses
    of 50 ms and more, in which no tick is dispatched and no page is answered. What is new it looks through
    seldom: of a worker's time on short runs that was a quarter."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def serve(app: Fencepost, work: Callable[[Stopper], Awaitable[None]]) -> int:
    """Do the work until it is stopped; the exit code, if the process can end in the ordinary way."""
    others = set(threading.enumerate())
    set_up()
    last_resort = threading.Timer(app.settings.grace_s + LAST_RESORT_S, _give_up)
    last_resort.daemon = True
    code = _worked(work, last_resort)
    app.retire()
    close()
    if _has_work(set(threading.enumerate()) - others):
        _end_at_once(code)
    last_resort.cancel()
    return code


def _give_up() -> None:
    Log("signals").error("could not stop in time, a job blocks the event loop; the process ends now")
    _end_at_once(NO)


def _end_at_once(code: int) -> NoReturn:
    for last in (close, sys.stdout.flush, sys.stderr.flush):
        with suppress(Exception):
            last()
    os._exit(code)


def _keep_off(loop: asyncio.AbstractEventLoop) -> None:
    """In a copy of the process: nothing of the loop is run there, and signals do what they do by default. A
    child that never returns to it, as those of `multiprocessing`, is not disturbed."""
    if not loop.is_running():
        return
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    # There is no public way to keep a loop from going on.
    setattr(loop, "_run_once", partial(os._exit, NO))  # noqa: B010


def _worked(work: Callable[[Stopper], Awaitable[None]], last_resort: threading.Timer) -> int:
    try:
        return guarded(lambda: asyncio.run(_until_stopped(work, last_resort)))
    except Exception:
        traceback.print_exc()
        return NO


async def _until_stopped(work: Callable[[Stopper], Awaitable[None]], last_resort: threading.Timer) -> None:
    stopper = Stopper(last_resort)
    with suppress(asyncio.CancelledError):
        await work(stopper)
    await _leave_stubborn_work()


async def _leave_stubborn_work() -> None:
    """A job that swallows its cancellation would keep the loop from closing; the ledger has it rescued."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left and (await asyncio.wait(left, timeout=STUBBORN_S))[1]:
        _end_at_once(0)


def _has_work(threads: set[threading.Thread]) -> bool:
    """Whether a job or a thought goes on in one of them, although the idle ones have been let go."""
    jobs = [one for one in threads if one.name.startswith(JOB_THREAD)]
    for one in jobs:
        one.join(IDLE_THREADS_S)
    return any(map(threading.Thread.is_alive, jobs)) or any(map(is_offloaded, threads))
