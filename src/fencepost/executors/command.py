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
        child = await self._started(run)
        try:
            status = await child.ended()
            await child.say_last_words()
        except asyncio.CancelledError:
            run.left_output = child.output or None
            await asyncio.shield(child.end_group())
            raise
        finally:
            child.close()
        return _verdict(status, child.output)

    async def _started(self, run: Run) -> _Child:
        """The process; one that is cancelled while it starts is ended like any other."""
        starting = asyncio.create_task(self._start(run))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.shield(_end_started(starting))
            raise

    async def _start(self, run: Run) -> _Child:
        try:
            transport, child = await asyncio.get_running_loop().subprocess_exec(
                _Child,
                *self._argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, **self._environment, **_about(run)},
                start_new_session=True,
            )
        except OSError as error:
            raise PermanentFailure(f"cannot start {self._argv[0]}: {error.strerror or error}") from None
        child.transport = transport
        return child


class _Child(asyncio.SubprocessProtocol):
    """A process that leads a session of its own, and the tail of what it and its children wrote."""

    transport: asyncio.SubprocessTransport

    def __init__(self) -> None:
        self._tail = bytearray()
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._tail += data
        del self._tail[:-OUTPUT_KEPT_BYTES]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._silent.set()

    def process_exited(self) -> None:
        self._exited.set()

    @property
    def output(self) -> str:
        return self._tail.decode("utf-8", "replace")

    async def ended(self) -> int:
        """The exit status, negative for a signal."""
        await self._exited.wait()
        status = self.transport.get_returncode()
        assert status is not None
        return status

    async def say_last_words(self) -> None:
        """Let the pipe run dry, unless something in the background holds it open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await self._silent.wait()

    async def end_group(self) -> None:
        self._signal_group(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(TERM_GRACE_S):
                await self._exited.wait()
        self._signal_group(signal.SIGKILL)
        await self._exited.wait()

    def close(self) -> None:
        self.transport.close()

    def _signal_group(self, number: signal.Signals) -> None:
        """The command leads its own session, so its pid names the group, also after the leader has gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.transport.get_pid(), number)


async def _end_started(starting: asyncio.Task[_Child]) -> None:
    with suppress(PermanentFailure):
        child = await starting
        try:
            await child.end_group()
        finally:
            child.close()


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
