"""Processes of `fencepost` forked from one that has imported it: to import takes a second of processor time.

They are processes of their own all the same: each has its folder, environment and output, a normal end of the
interpreter, and an exit code. Between it and the server a second fork waits for its end, and tells of it.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fencepost.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
REQUEST_MAX = 1 << 20
PRELOADED = (
    *(f"fencepost.cli.{place.partition(':')[0]}" for place in COMMANDS.values()),
    *("fencepost.cli.serving", "fencepost.cli.target", "fencepost.manifest"),
    *("fencepost.web.server", "fencepost.stores.sqlite.store", "fencepost.stores.postgres.store"),
    *("litestar.plugins.attrs", "litestar.plugins.pydantic"),
)


class Fork:
    """As much of `subprocess.Popen` as the tests ask for."""

    def __init__(
        self, arguments: list[str], folder: Path, environment: dict[str, str], *, apart: bool
    ) -> None:
        request = {"arguments": arguments, "folder": str(folder), "environment": environment, "apart": apart}
        heard, output = os.pipe()
        ending, end = os.pipe()
        socket.send_fds(_server(), [json.dumps(request).encode()], [output, end])
        os.close(output)
        os.close(end)
        self.stdout = os.fdopen(heard, encoding="utf-8")
        self._ending = os.fdopen(ending, encoding="utf-8")
        self.returncode: int | None = None
        self.pid = int(self._ending.readline())

    def send_signal(self, number: signal.Signals) -> None:
        """Nothing happens where it has ended."""
        if not self._has_ended(0):
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal."""
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired("fencepost", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def _has_ended(self, within_s: float | None) -> bool:
        if self.returncode is None and select.select([self._ending], [], [], within_s)[0]:
            self.returncode = int(self._ending.readline())
            self._ending.close()
        return self.returncode is not None


@cache
def _server() -> socket.socket:
    """The line to the process that forks the others; it ends when we do."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for one in (ours, theirs):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_MAX)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-c", "from tests.cli.forks import serve; serve()", str(theirs.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ours


def serve() -> None:
    """Fork a process for each request until the line is closed."""
    from fencepost.web.dashboard.page import all_pages

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in PRELOADED:
        import_module(name)
    all_pages()
    with socket.socket(fileno=int(sys.argv[1])) as line:
        while True:
            request, descriptors, *_ = socket.recv_fds(line, REQUEST_MAX, 2)
            if not request:
                return
            if os.fork() == 0:
                break
            for one in descriptors:
                os.close(one)
    output, end = descriptors
    _wait_for_a_fork(output, end)
    _become(json.loads(request), output)


def _wait_for_a_fork(output: int, end: int) -> None:
    """Back in the fork; where it was made, tell its number and its end, and end too."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end)
        os.close(go)
        os.read(ready, 1)
        os.close(ready)
        return
    os.close(output)
    os.write(end, f"{pid}\n".encode())
    os.close(go)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(end, f"{code}\n".encode())
    os._exit(0)


def _become(request: dict[str, Any], output: int) -> None:
    """What `python -m fencepost` is when it has started."""
    from fencepost.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    if request["apart"]:
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    sys.path[0] = request["folder"]
    sys.argv = ["fencepost", *request["arguments"]]
    main()
