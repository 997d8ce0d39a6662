"""Commands as jobs: an argv without a shell, in a process group of its own.

The command learns about its run from its environment. Its last 64 KiB of output are kept. Exit 0 is
success, 64 to 78 (sysexits) a permanent failure, anything else a failure to retry. When the attempt is
cancelled or times out the whole group gets SIGTERM and, a little later, SIGKILL. What a command left
running in the background on purpose goes on when the command itself ends well.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from fencepost.errors import InvalidPayload, PermanentFailure, RetryableFailure
from fencepost.model.json import JsonObject
from fencepost.model.times import to_utc_text
from fencepost.ports.run import Run

OUTPUT_KEPT_BYTES = 64 * 1024
PAYLOAD_BYTES_MAX = 100 * 1024
TERM_GRACE_S = 2.0
LAST_WORDS_S = 1.0
READ_BYTES = 16 * 1024
PERMANENT_EXITS = range(64, 79)


class CommandExecutor:
    """One argv."""

    stoppable = True

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._argv = list(argv)
        self._environment = dict(environment or {})

    def check(self, payload: JsonObject) -> None:
        if len(json.dumps(payload)) > PAYLOAD_BYTES_MAX:
            raise InvalidPayload(f"payload: longer than {PAYLOAD_BYTES_MAX} bytes as JSON")

    async def execute(self, run: Run) -> str | None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, **self._environment, **_about(run)},
                start_new_session=True,
            )
        except OSError as error:
            raise PermanentFailure(f"cannot start {self._argv[0]}: {error.strerror or error}") from None
        tail = bytearray()
        reading = asyncio.create_task(_read(process, tail))
        try:
            status = await process.wait()
            await asyncio.wait({reading}, timeout=LAST_WORDS_S)
        except asyncio.CancelledError:
            await asyncio.shield(_end_group(process))
            raise
        finally:
            reading.cancel()
        return _verdict(status, tail.decode("utf-8", "replace"))


async def _read(process: asyncio.subprocess.Process, tail: bytearray) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(READ_BYTES):
        tail += chunk
        del tail[:-OUTPUT_KEPT_BYTES]


def _verdict(status: int, output: str) -> str | None:
    if status == 0:
        return output or None
    how = f"exit {status}" if status > 0 else f"killed by {_signal_name(-status)}"
    failure: RetryableFailure | PermanentFailure
    failure = PermanentFailure(how) if status in PERMANENT_EXITS else RetryableFailure(how)
    failure.output = output or None
    raise failure


def _signal_name(number: int) -> str:
    """Real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _end_group(process: asyncio.subprocess.Process) -> None:
    _signal_group(process, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(TERM_GRACE_S):
            await process.wait()
    _signal_group(process, signal.SIGKILL)
    await process.wait()


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """The command leads its own session, so its pid names the group, also after the leader has gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _about(run: Run) -> dict[str, str]:
    return {
        "FENCEPOST_RUN_KEY": run.key,
        "FENCEPOST_SCHEDULE": run.schedule_id or "",
        "FENCEPOST_JOB": run.job,
        "FENCEPOST_FIRE_TIME": to_utc_text(run.fire_time),
        "FENCEPOST_ATTEMPT": str(run.attempt),
        "FENCEPOST_FENCE": str(run.fence),
        "FENCEPOST_PAYLOAD": json.dumps(run.payload),
    }
