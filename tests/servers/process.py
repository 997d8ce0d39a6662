"""What every server of the tests is: a process with a folder, a log and a port of its own.

A server never outlives the tests. It is stopped by whoever started it, at the latest when the interpreter
ends; where the interpreter was killed, `guard.py` does it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from tests.servers.binaries import identity
from tests.servers.guard import guard
from tests.servers.ports import free_port

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0

T = TypeVar("T")


class Address:
    """A server that somebody runs, reached by its URL."""

    def __init__(self, url: str) -> None:
        self.url = url


class Server(Address):
    """A server of our own, which answers once `start` returns. The port stays the same over restarts."""

    stop_signal = signal.SIGTERM
    faults: tuple[type[Exception], ...] = (OSError,)
    """What its client raises while the server is not there yet."""

    def __init__(self, name: str, url: str, *, apart: bool = False) -> None:
        self.port = free_port()
        super().__init__(url.format(port=self.port))
        self.folder = guard().create_folder(name)
        self._owner = identity() if apart else {}
        self._process: subprocess.Popen[bytes] | None = None
        if self._owner:
            os.chown(self.folder, self._owner["user"], self._owner["group"])
        atexit.register(self.close)

    @property
    def by_proxy(self) -> tuple[int, int | None]:
        """The port to which a proxy leads, and the one where clients look for the proxy, if they insist."""
        return self.port, None

    def command(self) -> Sequence[str | Path]:
        """What to start."""
        raise NotImplementedError

    def is_up(self) -> bool:
        """Whether it answers; one of the `faults` says no as well."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.spawn()
        self.wait_until_up()

    def spawn(self) -> None:
        """Start the server and do not wait: a member of a cluster answers only when its peers are there."""
        assert self._process is None
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **self._owner,
            )
        guard().hold(self._process.pid)

    def wait_until_up(self) -> None:
        """Wait until it answers."""
        wait_until(self._answers, lambda: f"the server does not answer: {self.log}")

    def stop(self) -> None:
        """A clean stop; a server that does not care to is killed."""
        if self._process is not None:
            self.resume()
            self._process.send_signal(self.stop_signal)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT_S)
            self.kill()

    def kill(self) -> None:
        """As if the machine had lost its power: every process of the server at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_TIMEOUT_S)
            guard().let_go(self._process.pid)
            self._process = None

    def settle(self) -> None:
        """Have on disk what a kill in this moment would lose although it was answered. Most have it there."""

    def restart(self) -> None:
        """Stop, where it runs, and start on the same port with the same data."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Stall it: its connections stay open, and nothing is answered. The signal takes a moment to reach
        all threads, so wait until they have stopped."""
        os.killpg(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Go on as if nothing had been. Resuming what is not paused is fine."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Stop and leave nothing behind. Closing twice is fine."""
        atexit.unregister(self.close)
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server does not run"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """What the server has said so far."""
        return (self.folder / "log").read_text(errors="replace")

    def _answers(self) -> bool:
        assert self.is_running, f"the server ended at its start: {self.log}"
        try:
            return self.is_up()
        except self.faults:
            return False


S = TypeVar("S", bound=Server)


class Cluster(Generic[S]):
    """Servers that act as one. What one test broke, `restore` mends for the next."""

    def __init__(self, nodes: list[S]) -> None:
        self.nodes = nodes

    def is_whole(self) -> bool:
        """Whether everyone is there and has found the others."""
        raise NotImplementedError

    def restore(self) -> None:
        """Start who is down, wake who is paused, and wait until the cluster is whole."""
        for node in self.nodes:
            if node.is_running:
                node.resume()
            else:
                node.kill()
                node.spawn()
        for node in self.nodes:
            node.wait_until_up()
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        wait_until(self.is_whole, lambda: f"the cluster does not come together: {self.logs}")

    def close(self) -> None:
        """Nobody waits for the others at the end."""
        for node in self.nodes:
            node.kill()
        for node in self.nodes:
            node.close()

    @property
    def running(self) -> list[S]:
        return [node for node in self.nodes if node.is_running]

    @property
    def logs(self) -> str:
        return "\n".join(node.log[-2000:] for node in self.nodes)

    def _one(self, is_it: Callable[[S], bool], title: str) -> S:
        """The running node that is it, once there is one. Who cannot be asked is not."""
        return wait_until(
            lambda: next((node for node in self.running if says_yes(node, is_it)), None),
            lambda: f"no {title}: {self.logs}",
        )


def wait_until(
    condition: Callable[[], T | None], complaint: Callable[[], str], at_most_s: float = START_TIMEOUT_S
) -> T:
    """What the condition gives, once it gives anything."""
    deadline = time.monotonic() + at_most_s
    while not (found := condition()):
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.02)
    return found


def says_yes(node: S, question: Callable[[S], bool]) -> bool:
    try:
        return question(node)
    except node.faults:
        return False
