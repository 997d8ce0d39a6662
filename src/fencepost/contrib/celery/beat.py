"""A beat that survives its host: Celery's beat, with the ledger in place of its own schedule.

Each beat is a node of the Fencepost fleet: it plans, if it leads a shard, and it works. A run of an entry is
one send. The ledger decides who sends a tick, so any number of beats may run, and none of them is special.

The node lives in a thread with its own event loop, because Celery's main thread has the signals. Beat's own
loop only waits for the node to end. A clean stop waits for the sends in hand, resigns and leaves. A node that
ends by itself ends the beat, with an exit code other than 0, so that a supervisor starts it again.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from celery import beat

from fencepost.app import Fencepost
from fencepost.config import Settings, settings_from
from fencepost.contrib.celery.entries import LABELS, QUEUE, add_entry
from fencepost.errors import StoreReplaced, StoreUnavailable, UsageError
from fencepost.executors.celery import Sender
from fencepost.model.identifiers import ScheduleId
from fencepost.model.schedule import ScheduleFilter
from fencepost.services.node import NodeRunner
from fencepost.telemetry.logs import ROOT, Log, PlainFormatter
from fencepost.wiring import shown_store

T = TypeVar("T")
SETTINGS = ("store", "namespace", "leases")
PREFIX = "beat_fencepost_"
PAUSE_FIRST_S, PAUSE_MAX_S = 0.25, 5.0
WAIT_S = 5.0
STOP_S = 30.0
"""How long a clean stop may take after the grace."""
LISTED_MAX = 1_000
WRONG, BROKEN = 2, 1


class Scheduler(beat.Scheduler):
    """Given to `celery beat` by `-S fencepost.contrib.celery:Scheduler`."""

    def __init__(self, app: Any, *args: Any, **words: Any) -> None:
        self._node: NodeThread | None = None
        self._settings = _refusing(lambda: settings_of(app))
        self._shown = _refusing(lambda: shown_store(self._settings))
        super().__init__(app, *args, **words)

    def setup_schedule(self) -> None:
        """Read the entries; what cannot be a schedule is refused before anything runs."""
        self.merge_inplace(self.app.conf.beat_schedule)
        self.install_default_entries(self.schedule)
        application = _refusing(lambda: application_of(self.app, self.schedule, self._settings))
        self._node = NodeThread(application)

    @property
    def info(self) -> str:
        """What `celery beat` shows at its start."""
        return f"    . ledger -> {self._shown}, namespace {self._settings.namespace}"

    def tick(self, *args: Any, **words: Any) -> float:
        """Wait: the node sends."""
        assert self._node is not None, "a lazy scheduler does not tick"
        self._node.start()
        if self._node.ended.wait(min(self.max_interval, WAIT_S)):
            raise SystemExit(BROKEN)
        return 0

    def close(self) -> None:
        """Stop the node; asked again meanwhile, wait for nothing."""
        node = self._node
        if node is not None:
            node.stop()
        super().close()
        if node is not None and node.failure is not None:
            _end(node.failure)


class NodeThread:
    """A node in a thread with an event loop of its own."""

    def __init__(self, app: Fencepost) -> None:
        self._app = app
        self._thread = threading.Thread(target=self._main, name="fencepost-beat", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._stop_asked = False
        self._runner: NodeRunner | None = None
        self._log = Log("beat")
        self.ended = threading.Event()
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Once; a node that has been started goes on."""
        if self._thread.ident is None and not self._stop_asked:
            _log_to_celery()
            self._thread.start()

    def stop(self) -> None:
        """Ask for a clean stop and wait for it; asked a second time, hurry."""
        again, self._stop_asked = self._stop_asked, True
        if self._thread.ident is None or self.ended.is_set():
            return
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._hurry if again else self._ask)
        self._thread.join(self._app.settings.grace_s + STOP_S)

    def _ask(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    def _hurry(self) -> None:
        self._ask()
        if self._runner is not None:
            self._runner.hurry()

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self.failure = error
        finally:
            self._app.retire()
            self.ended.set()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        if self._stop_asked:
            return
        starting = asyncio.create_task(self._started())
        waiting = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                self._runner = starting.result()
                await self._runner.run(self._stopping)
        finally:
            for one in (starting, waiting):
                one.cancel()
            await asyncio.gather(starting, waiting, return_exceptions=True)
            await self._app.close()

    async def _started(self) -> NodeRunner:
        await self._patiently(self._app.open)
        runner = await self._patiently(self._app.node)
        await self._patiently(self._tell_of_the_removed)
        return runner

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """What the work answers, as soon as the store does. Each state is told once."""
        pause_s, told = PAUSE_FIRST_S, ""
        while True:
            try:
                return await work()
            except StoreReplaced:
                raise
            except StoreUnavailable as error:
                if told != str(error):
                    told = str(error)
                    self._log.warning("waiting for the store", why=told)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    async def _tell_of_the_removed(self) -> None:
        """A schedule of code that the code does not have any more stays until it is removed."""
        label = "=".join(*LABELS.items())
        control = await self._app.control()
        found = await control.store.schedules.find(
            control.namespace, ScheduleFilter(label=label, limit=LISTED_MAX)
        )
        for one in found:
            if ScheduleId(one.schedule_id) not in self._app.code_schedules:
                remedy = f"fencepost schedules remove {one.schedule_id}"
                self._log.warning("no entry of the code", schedule=one.schedule_id, remedy=remedy)


def settings_of(celery: Any) -> Settings:
    """Those of Fencepost, with what Celery's configuration says. A beat takes no more runs than it sends at
    once: one that is killed leaves few to be sent later."""
    said = {name: celery.conf.get(PREFIX + name) for name in SETTINGS}
    return settings_from(file={"prefetch": 0}, overrides={**said, "queues": (QUEUE,), "broker": ""})


def application_of(celery: Any, entries: Mapping[str, Any], settings: Settings) -> Fencepost:
    """The application whose schedules are the entries of the beat."""
    app = Fencepost(settings=settings)
    sender = Sender(celery, send_within_s=settings.heartbeat_timeout_s / 3)
    for _, entry in sorted(entries.items()):
        add_entry(app, sender, entry)
    return app


class _ToCelery(logging.Handler):
    """Fencepost's lines in Celery's log, with their fields."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(PlainFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        _, _, told = self.format(record).split(maxsplit=2)
        beat.logger.log(record.levelno, "%s", told)


def _log_to_celery() -> None:
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [_ToCelery()]
    logger.setLevel(beat.logger.getEffectiveLevel())
    logger.propagate = False


def _refusing(work: Callable[[], T]) -> T:
    """What the work gives; a mistake of the user ends the beat with one line."""
    try:
        return work()
    except UsageError as error:
        _end(error)


def _end(error: BaseException) -> NoReturn:
    if isinstance(error, UsageError | StoreUnavailable):
        sys.stderr.write(f"fencepost: {' '.join(str(error).split())}\n")
        raise SystemExit(WRONG) from None
    traceback.print_exception(error)
    raise SystemExit(BROKEN) from None
