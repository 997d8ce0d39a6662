"""A command at work: the process that leads a session of its own, and what it and its children write."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from fencepost.executors.output import Output

TERM_GRACE_S = 2.0
LAST_WORDS_S = 1.0
REASON_BYTES_MAX = 4096


class Group(asyncio.SubprocessProtocol):
    """The process group of one command, from its start to its end. What it writes says that it gets on."""

    def __init__(self, output: Output, gets_on: Callable[[], None]) -> None:
        self._output = output
        self._gets_on = gets_on
        self._transport: asyncio.SubprocessTransport
        self._answer_fd = -1
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output.feed(data)
        self._gets_on()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._silent.set()

    def process_exited(self) -> None:
        self._exited.set()

    def lead(self, transport: asyncio.SubprocessTransport, answer_fd: int) -> None:
        """The process is there; its launcher answers over the descriptor, which is ours from now on."""
        self._transport = transport
        self._answer_fd = answer_fd
        os.set_blocking(answer_fd, False)

    @property
    def output(self) -> str | None:
        """The end of what was written so far."""
        return self._output.kept

    async def ended(self) -> int:
        """The exit status, negative for a signal."""
        await self._exited.wait()
        status = self._transport.get_returncode()
        assert status is not None
        return status

    def refusal(self) -> str | None:
        """Why the process could not become the command. Asked when it has ended, and never waited for: a
        command that took the descriptor's place, or was stopped before it could, has said nothing."""
        try:
            return os.read(self._answer_fd, REASON_BYTES_MAX).decode("utf-8", "replace") or None
        except BlockingIOError:
            return None

    async def say_last_words(self) -> None:
        """Let the pipe run dry, unless something in the background holds it open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await self._silent.wait()
        self._output.end_line()

    async def end(self) -> None:
        """Ask the whole group to end, and then see to it."""
        self._signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(TERM_GRACE_S):
                await self._exited.wait()
        self._signal(signal.SIGKILL)
        await self._exited.wait()

    def close(self) -> None:
        self._transport.close()
        os.close(self._answer_fd)

    def _signal(self, number: signal.Signals) -> None:
        """The command leads its own session, so its pid names the group, also after the leader has gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)
