"""The child process: does one errand after the other in its main thread, until its worker has gone.

A second thread listens to the worker. When the line ends while a function is at work, no worker is left to
get its outcome, and the whole process group ends at once. A function that hangs in C code may hold the
interpreter so that this thread never runs; on Linux the kernel then ends the child with its worker.

What the function prints goes through a pipe that the worker reads. `SystemExit` ends the process, as it would
anywhere. A child that has run out of memory says so and is not used again.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import queue
import resource
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NoReturn

from fencepost.errors import PermanentFailure, RetryableFailure
from fencepost.executors.binding import Binding
from fencepost.executors.process.far_run import FarRun
from fencepost.executors.process.reference import function_at
from fencepost.executors.process.wire import TEXT_LENGTH_MAX, claim_from_json, frame, parsed
from fencepost.model.faults import traceback_of, words_of
from fencepost.model.job import error_names
from fencepost.model.text import storable
from fencepost.telemetry.logs import PlainFormatter
from fencepost.telemetry.secrets import mask
from fencepost.telemetry.traces import within

PR_SET_PDEATHSIG = 1
LEAVE_S = 1.0
"""How long threads that a function left behind may keep a child that has nothing more to do."""
DETAIL_LENGTH_MAX = 16 * 1024


def main(fd: int, worker_pid: int) -> None:
    """Serve the worker at the other end of the socket."""
    die_with(worker_pid)
    faulthandler.enable()
    outlive_service_managers()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
    os.set_inheritable(fd, False)
    Child(socket.socket(fileno=fd)).serve()


def die_with(worker_pid: int) -> None:
    """Have the kernel end this process when its worker ends; one that has ended already ends it here."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != worker_pid:
        os._exit(0)


def outlive_service_managers() -> None:
    """A service manager that stops a worker may signal all of its processes at once; but the worker lets
    what runs finish within its grace. A handler, unlike an ignored signal, is not inherited by programs."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)


class Child:
    """One end of the line, and the errand in hand."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._talking = threading.Lock()
        self._errands: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._run: FarRun | None = None
        self._number = 0
        self._stopped = 0
        self._bindings: dict[tuple[str, str], Binding] = {}

    def serve(self) -> None:
        """Errands, one after the other."""
        threading.Thread(target=self._listen, name="fencepost-line", daemon=True).start()
        while (errand := self._errands.get()) is not None:
            self._do(errand)

    def say(self, **said: Any) -> None:
        """Send to the worker; the caller waits while the worker is behind with reading."""
        with self._talking:
            self._line.sendall(frame(**said))

    def _listen(self) -> None:
        with suppress(OSError), self._line.makefile("rb") as lines:
            for line in lines:
                self._hear(parsed(line))
        if self._run is not None:
            os.killpg(0, signal.SIGKILL)
        self._errands.put(None)
        threading.Event().wait(LEAVE_S)
        os._exit(0)

    def _hear(self, said: dict[str, Any]) -> None:
        if "do" in said:
            self._errands.put(said)
            return
        self._stopped = said["stop"]
        run = self._run
        if run is not None and self._number == self._stopped:
            run.ask_to_stop()

    def _do(self, errand: dict[str, Any]) -> None:
        self._number = errand["do"]
        self._run = run = FarRun(claim_from_json(errand["claim"]), self.say)
        run.trace_context = errand["trace"]
        if self._stopped == self._number:
            run.ask_to_stop()
        self.say(begun=self._number)
        try:
            binding = self._binding(errand["module"], errand["name"])
            show_logging()
            with within(run.trace_context), memory_limited(errand["memory"]):
                result = _text(binding.kept(binding.call_for(run)()))
        except SystemExit as leaving:
            _leave(leaving)
        except BaseException as error:
            answer = self._failure(error, errand["memory"])
        else:
            answer = {"done": self._number, "result": result}
        _flush()
        self._run = None
        self.say(**answer)

    def _binding(self, module: str, name: str) -> Binding:
        if (module, name) not in self._bindings:
            self._bindings[module, name] = Binding(function_at(module, name))
        return self._bindings[module, name]

    def _failure(self, error: BaseException, memory_bytes: int | None) -> dict[str, Any]:
        starved = isinstance(error, MemoryError)
        hint = f" (memory_limit is {memory_bytes} bytes)" if starved and memory_bytes else ""
        return {
            "failed": self._number,
            "error": _text(words_of(error) + hint),
            "detail": storable(mask(traceback_of(error)), DETAIL_LENGTH_MAX),
            "kinds": error_names(type(error)),
            "permanent": isinstance(error, PermanentFailure),
            "retry_after": _asked(error),
            "spent": starved,
        }


def show_logging() -> None:
    """Print what is written with `logging`, and so log it, where the program has not set logging up."""
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(PlainFormatter())
        root.addHandler(handler)
        root.setLevel(logging.INFO)


@contextmanager
def memory_limited(limit_bytes: int | None) -> Iterator[None]:
    """Within, the address space of this process may not outgrow the limit."""
    if limit_bytes is None:
        yield
        return
    before = soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    ceilings = [one for one in (limit_bytes, soft, hard) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(ceilings), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _asked(error: BaseException) -> str | float | None:
    """How long a failure asks to be left alone, as JSON has it."""
    wait = error.retry_after if isinstance(error, RetryableFailure) else None
    if isinstance(wait, timedelta):
        return wait.total_seconds()
    return wait if isinstance(wait, str | int | float) else None


def _leave(leaving: SystemExit) -> NoReturn:
    """End as `sys.exit` says, without waiting for what else runs in this process."""
    code = leaving.code
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    _flush()
    os._exit(code & 0xFF if isinstance(code, int) else int(code is not None))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _text(text: str | None) -> str | None:
    """Masked here as well: a text that is cut first may keep half a secret, which masking would not
    recognise."""
    return None if text is None else storable(mask(text), TEXT_LENGTH_MAX)
