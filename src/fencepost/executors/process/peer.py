"""The worker's end of one child process: it is started, given errands, stopped, and watched until its end.

The child leads a session of its own, so its pid names a process group that can be killed as a whole. The
kernel says when it is dead, not the silence of its line: a process that the function forked may hold the line
open. A child that can no longer be talked to is killed.

Nothing here blocks the loop. Output is read as it comes, also between two runs, when it belongs to no run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from fencepost.executors.output import Output
from fencepost.executors.process.errand import Answer, Died, Done, Errand, raised
from fencepost.executors.process.wire import FRAME_BYTES_MAX, Order, claim_to_json, frame, parsed
from fencepost.ports.run import Run

STOP_GRACE_S = 2.0
LAST_WORDS_S = 1.0
LEAVE_S = 2.0
WAKE_S = 60.0
"""How long a child may take to begin an errand: until then no timeout of the job counts."""
READ_BYTES = 64 * 1024
DRAIN_READS_MAX = 64

# The worker's own search path comes first: it may be the only one on which this package is found.
BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop()); "
    "from fencepost.executors.process.child import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)


class Peer:
    """One child. `gone` is set when it has ended and everything of it has been read."""

    def __init__(self) -> None:
        self.runs = 0
        """How many errands it has been given."""
        self.spent = False
        """Whether it should not be used again."""
        self.gone = asyncio.Event()
        self._errand: Errand | None = None
        self._process: asyncio.SubprocessTransport
        self._writer: asyncio.StreamWriter
        self._output_fd = -1
        self._watch: asyncio.Task[None]

    @classmethod
    async def start(cls) -> Peer:
        """A new child, which is sent errands before it is awake. Raises `OSError` where none can be had."""
        peer = cls()
        ours, theirs = socket.socketpair()
        peer._output_fd, written = os.pipe()
        exits = _Exit()
        try:
            peer._process = await _spawned(exits, theirs.fileno(), written)
        except BaseException:
            ours.close()
            os.close(peer._output_fd)
            raise
        finally:
            theirs.close()
            os.close(written)
        os.set_blocking(peer._output_fd, False)
        asyncio.get_running_loop().add_reader(peer._output_fd, peer._read_output)
        reader, peer._writer = await asyncio.open_unix_connection(sock=ours, limit=FRAME_BYTES_MAX)
        peer._watch = asyncio.create_task(peer._watched(reader, exits.exited))
        return peer

    @property
    def usable(self) -> bool:
        """Whether it can be given another errand."""
        return not (self.spent or self.gone.is_set() or self._writer.is_closing())

    @property
    def pid(self) -> int:
        """Of the child, and of its process group."""
        return self._process.get_pid()

    async def do(self, order: Order, run: Run) -> Answer:
        """Have the child do it. When this is cancelled the errand goes on, until `stop`."""
        assert self._errand is None, "one errand at a time"
        self.runs += 1
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._errand = Errand(self.runs, run, Output(run), answer)
        self._say(
            do=self.runs,
            module=order.module,
            name=order.name,
            memory=order.memory_bytes,
            claim=claim_to_json(run.claim),
            trace=dict(run.trace_context),
        )
        if self.gone.is_set():
            self._end_errand(Died(self._status, begun=False))
        waking = asyncio.get_running_loop().call_later(WAKE_S, self._give_up_unless_begun)
        try:
            return await asyncio.shield(answer)
        finally:
            waking.cancel()

    @property
    def output(self) -> str | None:
        """The end of what the errand in hand has written so far."""
        return None if self._errand is None else self._errand.output.kept

    def let_go(self) -> None:
        """The run that had the child is done with it; a child that has not answered is not used again."""
        self.spent = self.spent or (self._errand is not None and not self._errand.answer.done())
        self._errand = None

    async def stop(self) -> None:
        """Ask the function to stop, wait a little, and then kill it. It has ended when this returns."""
        errand = self._errand
        if errand is None or errand.answer.done():
            return
        self._say(stop=errand.number)
        await asyncio.wait({errand.answer}, timeout=STOP_GRACE_S)
        if not errand.answer.done():
            self.kill()
            await self.gone.wait()

    async def leave(self) -> None:
        """Let the child end, and see to it."""
        self.spent = True
        self._writer.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self.gone.wait()
        self.kill()
        await self.gone.wait()

    def kill(self) -> None:
        """End the child and all of its group at once."""
        self.spent = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _give_up_unless_begun(self) -> None:
        if self._errand is not None and not self._errand.begun:
            self.kill()

    @property
    def _status(self) -> int:
        status = self._process.get_returncode()
        assert status is not None, "asked after its end"
        return status

    def _say(self, **said: Any) -> None:
        """What cannot be said any more need not be: the watch notices that the child is dying."""
        if not self._writer.is_closing():
            self._writer.write(frame(**said))

    async def _watched(self, reader: asyncio.StreamReader, exited: asyncio.Event) -> None:
        """From the start to the end of the child, or of the loop: after that no caller could wait for it."""
        listening = asyncio.create_task(self._listen(reader))
        leaving = asyncio.create_task(exited.wait())
        try:
            await asyncio.wait({listening, leaving}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({listening, leaving}, timeout=LAST_WORDS_S)
        finally:
            self.kill()
            await exited.wait()
            listening.cancel()
            self._close()
            self.gone.set()
            self._end_errand(Died(self._status, begun=self._errand is not None and self._errand.begun))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Until the line ends, or something comes over it that makes no sense."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            while line := await reader.readline():
                self._hear(parsed(line))

    def _hear(self, said: dict[str, Any]) -> None:
        errand = self._errand
        if errand is None:
            return
        match said:
            case {"begun": errand.number}:
                errand.begun = True
                errand.run.begun.set()
            case {"beat": float() | int() | str() | None as progress, "note": str() | None as note}:
                errand.run.heartbeat(progress, note)
            case {"log": str(text)}:
                errand.run.log(text)
            case {"done": errand.number, "result": str() | None as result}:
                self._end_errand(Done(result))
            case {"failed": errand.number}:
                self.spent = self.spent or said["spent"] is True
                self._end_errand(raised(said))
            case _:
                raise ValueError("not a word of a child")

    def _end_errand(self, answer: Answer) -> None:
        """Everything that was written before the answer is in the pipe by now."""
        if self._errand is not None:
            self._drain()
            self._errand.end(answer)

    def _drain(self) -> None:
        for _ in range(DRAIN_READS_MAX):
            if not self._read_output():
                return

    def _read_output(self) -> bool:
        """Read once; whether there may be more."""
        if self._output_fd < 0:
            return False
        try:
            data = os.read(self._output_fd, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._close_output()
        elif self._errand is not None:
            self._errand.output.feed(data)
        return bool(data)

    def _close(self) -> None:
        self._drain()
        self._close_output()
        self._writer.close()
        self._process.close()

    def _close_output(self) -> None:
        if self._output_fd >= 0:
            asyncio.get_running_loop().remove_reader(self._output_fd)
            os.close(self._output_fd)
            self._output_fd = -1


class _Exit(asyncio.SubprocessProtocol):
    """Hears of the end of the process."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()


async def _spawned(exits: _Exit, line: int, output: int) -> asyncio.SubprocessTransport:
    flags = ["-P", *["-O"] * sys.flags.optimize]
    words = [str(line), str(os.getpid()), json.dumps(sys.path)]
    process, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: exits,
        *[sys.executable, *flags, "-c", BOOT, *words],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=(line,),
        start_new_session=True,
    )
    return process
