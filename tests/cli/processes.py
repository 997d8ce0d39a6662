"""Real `fencepost` processes: started, listened to, signalled, and never left behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import IO

from tests.cli.forks import ROOT, Fork

PATIENCE_S = 120.0
LED = re.compile(r"\b(leads|stepped down) +.*?shards=\"?([\d, -]+)")
SIGINT, SIGKILL, SIGTERM = signal.SIGINT, signal.SIGKILL, signal.SIGTERM


class Process:
    """One process and what it has written so far, line by line."""

    head: tuple[str, ...] = ("-m", "fencepost")
    apart = False

    def __init__(self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._arrived: Queue[str] = Queue()
        self._popen = self._started(arguments, folder, {**clean_environment(), **environment})
        assert self._popen.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._popen.stdout,))
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def wait_for(self, text: str) -> str:
        """The next line that holds the text."""
        return self._next(lambda line: text in line, f"line with {text!r}")

    def wait_to_lead(self, shards: Iterable[int]) -> None:
        """Until it leads just these, by however many grants and losses it got there."""
        wanted = set(shards)
        if self.led != wanted:
            self._next(lambda _: self.led == wanted, f"lead of {sorted(wanted)}")

    @property
    def led(self) -> set[int]:
        """The shards that it leads, by what it has said."""
        found: set[int] = set()
        for line in self.lines:
            if told := LED.search(line):
                found = found | _numbers(told[2]) if told[1] == "leads" else found - _numbers(told[2])
        return found

    def wait_for_lines(self, text: str, times: int) -> None:
        """Until so many lines hold the text, those that were waited for before among them."""
        while self.said.count(text) < times:
            self.wait_for(text)

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def stop(self) -> None:
        """Stop it where it stands; when this returns, none of its threads runs."""
        self._popen.send_signal(signal.SIGSTOP)
        end = time.monotonic() + PATIENCE_S
        while not _stands(self._popen.pid):
            assert time.monotonic() < end, "it does not stop"
            time.sleep(0.001)

    def ended(self) -> int:
        """The exit code, once it has ended by itself."""
        try:
            code = self._popen.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end:\n{self.said}") from None
        self._reader.join(PATIENCE_S)
        return code

    @property
    def has_hung_up(self) -> bool:
        """Whether nobody can write to its output any more, neither it nor a child of it."""
        return not self._reader.is_alive()

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def close(self) -> None:
        self._popen.kill()
        self._popen.wait()
        self._reader.join()
        assert self._popen.stdout is not None
        self._popen.stdout.close()

    def _started(
        self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen[str] | Fork:
        return subprocess.Popen(
            [sys.executable, *self.head, *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=self.apart,
        )

    def _next(self, fits: Callable[[str], bool], what: str) -> str:
        end = time.monotonic() + PATIENCE_S
        try:
            while not fits(line := self._arrived.get(timeout=end - time.monotonic())):
                pass
        except (Empty, ValueError):
            raise AssertionError(f"no {what} in:\n{self.said}") from None
        return line

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(line.rstrip("\n"))
            self._arrived.put(line)


class ForkedProcess(Process):
    """One that needs not import anything any more; see `Fork`."""

    def _started(self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> Fork:
        return Fork(list(arguments), folder, environment, apart=self.apart)


@contextmanager
def started(*arguments: str, folder: Path, **environment: str) -> Iterator[Process]:
    """A process that is killed at the end if it still runs."""
    process = ForkedProcess(arguments, folder, environment)
    try:
        yield process
    finally:
        process.close()


def said(*arguments: str, **environment: str) -> tuple[int, str]:
    """The end of a command, and what it says on both streams: never a traceback of its own."""
    with started(*arguments, folder=ROOT, **environment) as process:
        code = process.ended()
    assert not any(line.startswith("Traceback") for line in process.lines), process.said
    return code, process.said


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("FENCEPOST_")}


def _numbers(shards: str) -> set[int]:
    """Of `0-2, 5`."""
    ranges = (one.partition("-") for one in re.findall(r"\d+(?:-\d+)?", shards))
    return {number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)}


def _stands(pid: int) -> bool:
    """Whether all threads of a process are stopped."""
    states = [
        path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")
    ]
    return set(states) == {"T"}
