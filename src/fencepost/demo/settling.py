"""The past of the shop's workers: every tick that was due is ended as `fates` says, all in one transaction.

Only the demo writes runs this way, into a store of its own that no other process has opened. It writes what a
worker would have written: fences rise with the starts, an attempt that failed is kept with its traceback, and
a tick that met a run of its schedule is skipped for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fencepost.demo.fates import Fate, fate_of, log_of, traceback_of
from fencepost.model.identifiers import Namespace
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.moments import fetch, span_us, to_us
from fencepost.stores.sqlite.opening import connect

QUERIES = load_queries("fencepost.demo", "settling.sql")
LOGGED_BACK = timedelta(hours=26)
BETWEEN_S = 2.0
"""Between two that were late and run one after the other."""


@dataclass
class Settler:
    """The workers of the past. They live as long as the history is written."""

    path: Path
    namespace: Namespace
    workers: tuple[str, ...]
    now: datetime
    quiet: frozenset[str] = frozenset({"heartbeat", "report", "minutely", "slow"})
    """Who logs nothing."""
    _busy: dict[str, tuple[int, str]] = field(default_factory=dict)

    def settle(self, since: datetime, until: datetime, away: Collection[str] = ()) -> None:
        """End what was due by `until`. What came late began after `since`; `away` are schedules whose workers
        were not there."""
        connection = connect(self.path)
        try:
            with connection:
                terms = {"namespace": self.namespace, "until": to_us(until)}
                found = fetch(connection.execute(QUERIES["due"], terms))
                due = [row for row in found if row["schedule_id"] not in away]
                fence = int(connection.execute(QUERIES["fences"]).get)
                book = _Book(self, to_us(since), fence)
                for row in due:
                    book.take(row)
                connection.executemany(QUERIES["end"], book.ends)
                connection.executemany(QUERIES["keep_attempt"], book.attempts)
                connection.executemany(QUERIES["keep_log"], book.logs)
                connection.execute(QUERIES["move_fences"], {"value": book.fence})
        finally:
            connection.close()


class _Book:
    """What one settling writes."""

    def __init__(self, settler: Settler, since_us: int, fence: int) -> None:
        self.settler = settler
        self.since_us = since_us
        self.fence = fence
        self.ends: list[dict[str, Any]] = []
        self.attempts: list[dict[str, Any]] = []
        self.logs: list[dict[str, Any]] = []

    def take(self, row: dict[str, Any]) -> None:
        schedule_id, key, live = row["schedule_id"], row["run_key"], row["origin"] == "live"
        busy_until, other = self.settler._busy.get(schedule_id, (0, ""))
        run_at = to_us(row["run_at"])
        if live and busy_until > run_at:
            self._skip(row, other)
            return
        fate = fate_of(schedule_id, row["fire_time"], key)
        if not live:
            fate = Fate(fate.late_s, min(fate.took_s, 60.0))
        begun_us = run_at + span_us(fate.late_s)
        if not live:
            begun_us = max(begun_us, self.since_us, busy_until) + span_us(BETWEEN_S)
        ended_us = self._run(row, fate, begun_us)
        self.settler._busy[schedule_id] = ended_us, key

    def _skip(self, row: dict[str, Any], other: str) -> None:
        ended = to_us(row["run_at"]) + span_us(0.05)
        self._end(row, "skipped", finished_at=ended, reason=f"overlap with {other}", blocked_by=other)

    def _run(self, row: dict[str, Any], fate: Fate, begun_us: int) -> int:
        """All attempts of one run; when the last one ended."""
        worker = self.settler.workers[hash_of(row["run_key"]) % len(self.settler.workers)]
        attempt, started_us = row["attempt"], begun_us
        made = list(self._failures(row, fate, worker, begun_us))
        if made:
            attempt, started_us = row["attempt"] + len(made), made[-1]["started_at"]
            self.attempts += made
        ended_us = made[-1]["finished_at"] if made else begun_us
        if not fate.dead:
            attempt += 1
            self.fence += 1
            started_us = ended_us + (span_us(fate.again_s) if made else 0)
            ended_us = started_us + span_us(fate.took_s)
        self._end(
            row,
            "dead" if fate.dead else "succeeded",
            attempt=attempt,
            fence=self.fence,
            worker=worker,
            started_at=started_us,
            first_started_at=begun_us,
            finished_at=ended_us,
            error=fate.error if fate.dead else None,
            reason=_why_dead(fate) if fate.dead else None,
        )
        self._log(row, fate, attempt, ended_us)
        return ended_us

    def _failures(self, row: dict[str, Any], fate: Fate, worker: str, at_us: int) -> Iterator[dict[str, Any]]:
        for number in range(1, fate.failed + 1):
            self.fence += 1
            last = fate.dead and number == fate.failed
            yield {
                "namespace": self.settler.namespace,
                "run_key": row["run_key"],
                "attempt": row["attempt"] + number,
                "fence": self.fence,
                "worker": worker,
                "started_at": at_us,
                "finished_at": at_us + span_us(0.3),
                "outcome": "dead" if last else "failed",
                "error": fate.error,
                "detail": traceback_of(fate.error),
            }
            at_us += span_us(fate.again_s * number)

    def _log(self, row: dict[str, Any], fate: Fate, attempt: int, at_us: int) -> None:
        recent = row["fire_time"] > self.settler.now - LOGGED_BACK
        if row["schedule_id"] in self.settler.quiet or not (recent or fate.dead):
            return
        lines = log_of(row["schedule_id"], fate)
        about = {"namespace": self.settler.namespace, "run_key": row["run_key"], "attempt": attempt}
        self.logs.append({**about, "lines": len(lines), "text": "\n".join(lines), "at": at_us})

    def _end(self, row: dict[str, Any], state: str, **fields: Any) -> None:
        blank = dict.fromkeys(("reason", "blocked_by", "worker", "started_at", "first_started_at", "error"))
        unbegun = {"attempt": row["attempt"], "fence": 0}
        self.ends.append({**blank, **unbegun, **fields, "row_id": row["row_id"], "state": state})


def hash_of(key: str) -> int:
    """A number that is the same in every process."""
    return sum(key.encode())


def _why_dead(fate: Fate) -> str:
    permanent = fate.error.startswith("PermanentFailure")
    return "permanent failure" if permanent else f"failed {fate.failed} of {fate.failed} attempts"
