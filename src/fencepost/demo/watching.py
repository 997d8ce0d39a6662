"""The watcher: what the terminal shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.ports.store import Store
from fencepost.services.service import Service

WATCH_EVERY_S = 0.5
WATCH_BACK = timedelta(minutes=5)
WATCH_MAX = 1_000


class Watcher(Service):
    """Shows each tick once it has ended or failed, in the order in which that happened."""

    name = "watcher"

    def __init__(
        self, store: Store, namespace: Namespace, start: StoreTime, show: Callable[[RunRecord], None]
    ) -> None:
        super().__init__()
        self._store = store
        self._namespace = namespace
        self._start = start
        self._show = show
        self._shown: set[tuple[RunKey, int, RunState]] = set()

    async def run_once(self) -> float:
        wanted = RunFilter(since=await self._store.now() - WATCH_BACK, limit=WATCH_MAX)
        found = await self._store.ledger.list(self._namespace, wanted)
        fresh = [run for run in found if self._is_news(run)]
        for run in sorted(fresh, key=lambda run: run.finished_at or run.run_at):
            self._show(run)
        self._shown = {_mark(run) for run in found} & (self._shown | {_mark(run) for run in fresh})
        return WATCH_EVERY_S

    def _is_news(self, run: RunRecord) -> bool:
        waits_again = run.state is RunState.READY and run.attempt > 0
        ended = run.finished_at is not None and run.finished_at >= self._start
        return (waits_again or ended) and _mark(run) not in self._shown


def _mark(run: RunRecord) -> tuple[RunKey, int, RunState]:
    return run.run_key, run.attempt, run.state
