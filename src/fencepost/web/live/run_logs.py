"""The logs of runs that listeners watch: one query for all of them, and one message for all listeners at the
same place of the same log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPlace, LogSpot
from fencepost.ports.run_logs import RunLogs
from fencepost.telemetry.logs import Log
from fencepost.web.live import messages
from fencepost.web.live.listener import Listener

CHUNKS_MAX = 50
LOGS_MAX = 50
"""The limit of one look; logs that have waited longest come first."""


async def tell_logs(run_logs: RunLogs, watching: Sequence[Listener], number: int, log: Log) -> bool:
    """Returns whether a log is watched. Listeners that have the same part of a log stand at the same place,
    and go on together. A log that cannot be read is watched no more, and does not hold up the others."""
    spots: dict[tuple[Namespace, RunKey, LogPlace | None], list[Listener]] = {}
    for listener in watching:
        assert listener.run_key is not None
        spots.setdefault((listener.namespace, listener.run_key, listener.place), []).append(listener)
    line = sorted(spots.items(), key=lambda one: min(listener.log_read_in for listener in one[1]))
    known: dict[LogSpot, list[Listener]] = {}
    for (namespace, run_key, place), listeners in line[:LOGS_MAX]:
        for listener in listeners:
            listener.log_read_in = number
        if place is None:
            await _find_end(run_logs, listeners, log)
        else:
            known[LogSpot(namespace, run_key, place)] = listeners
    if known:
        await _read_on(run_logs, known, number, log)
    return bool(watching)


async def _find_end(run_logs: RunLogs, listeners: Sequence[Listener], log: Log) -> None:
    """A listener that did not say how far it has read gets what comes from now on. The end is read once."""
    first = listeners[0]
    assert first.run_key is not None
    try:
        last = await run_logs.tail(first.namespace, first.run_key, limit=1)
    except StoreUnavailable:
        raise
    except Exception as error:
        _give_up(listeners, error, log)
        return
    for listener in listeners:
        listener.place = last[-1].place if last else LOG_BEGIN


async def _read_on(run_logs: RunLogs, known: Mapping[LogSpot, list[Listener]], number: int, log: Log) -> None:
    """All at once; where that fails, one by one, to find the log that cannot be read."""
    try:
        found = await run_logs.read_on(list(known), CHUNKS_MAX)
    except StoreUnavailable:
        raise
    except Exception as error:
        if len(known) == 1:
            (listeners,) = known.values()
            _give_up(listeners, error, log)
            return
        for spot, listeners in known.items():
            await _read_on(run_logs, {spot: listeners}, number, log)
        return
    for (spot, listeners), chunks in zip(known.items(), found, strict=True):
        if chunks:
            _tell(listeners, spot.run_key, chunks, number)


def _tell(listeners: Sequence[Listener], run_key: RunKey, chunks: Sequence[LoggedChunk], number: int) -> None:
    message, resync = messages.log(run_key, chunks, number), messages.resync(number)
    for listener in listeners:
        listener.place = chunks[-1].place
        listener.offer(message, resync)


def _give_up(listeners: Sequence[Listener], error: Exception, log: Log) -> None:
    log.warning("a log cannot be watched", run=listeners[0].run_key, error=f"{type(error).__name__}: {error}")
    for listener in listeners:
        listener.run_key = None
