"""The messages of streams, as server-sent events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fencepost.core.masking import masked_text
from fencepost.model.identifiers import RunKey
from fencepost.model.run_log import LoggedChunk, LogPlace
from fencepost.model.times import to_utc_text
from fencepost.model.views import COUNTED_MAX, RunNews, Standing

RETRY_MS = 2_000
HELLO = f"retry: {RETRY_MS}\n\n".encode()
HEARTBEAT = b": still here\n\n"


def event(name: str, data: object, number: int) -> bytes:
    """One event. JSON holds no line ends, so its data is one line."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), msgspec.json.encode(data))


def counts(standing: Standing, number: int) -> bytes:
    """How a namespace stands."""
    data = {
        "ready": standing.ready,
        "running": standing.running,
        "dead": standing.dead,
        "held": standing.held,
        "gates": standing.gates,
        "oldest_ready_s": standing.oldest_ready_s,
        "counted_max": COUNTED_MAX,
    }
    return event("counts", data, number)


def runs(told: Iterable[RunNews], cut: bool, number: int) -> bytes:
    """What happened to runs."""
    return event("runs", {"runs": [_run(one) for one in told], "cut": cut}, number)


def resync(number: int) -> bytes:
    """Something may have been missed."""
    return event("resync", {}, number)


def log(run_key: RunKey, chunks: Sequence[LoggedChunk], number: int) -> bytes:
    """More of a run's log."""
    data = {
        "run_key": run_key,
        "chunks": [_chunk(one) for one in chunks],
        "place": shown_place(chunks[-1].place),
    }
    return event("log", data, number)


def shown_place(place: LogPlace) -> str:
    """A place in a log, as streams name it: `attempt.number`."""
    return f"{place.attempt}.{place.number}"


def read_place(text: str) -> LogPlace | None:
    """The place behind a name; None where it is none."""
    attempt, dot, number = text.partition(".")
    if not dot or not _is_count(attempt) or not _is_count(number):
        return None
    return LogPlace(int(attempt), int(number))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _run(run: RunNews) -> dict[str, Any]:
    moments = {
        "fire_time": run.fire_time,
        "run_at": run.run_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }
    return {
        "run_key": run.run_key,
        "schedule_id": run.schedule_id,
        "job": run.job,
        "state": run.state,
        "origin": run.origin,
        **{name: None if at is None else to_utc_text(at) for name, at in moments.items()},
        "attempt": run.attempt,
        "worker": run.worker,
        "late_s": run.late_s,
        "error": None if run.error is None else masked_text(run.error),
    }


def _chunk(one: LoggedChunk) -> dict[str, Any]:
    return {
        "attempt": one.attempt,
        "number": one.chunk.number,
        "first_line": one.chunk.first_line,
        "text": one.chunk.text,
        "at": to_utc_text(one.at),
    }
