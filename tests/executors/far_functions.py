"""Functions that child processes find by name: well-behaved, noisy, stubborn and deadly ones."""

from __future__ import annotations

import ctypes
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NoReturn

from fencepost.errors import PermanentFailure, RetryableFailure, Snooze
from fencepost.ports.run import Run

HANG_S = 600.0


@dataclass
class Address:
    city: str
    number: int = 1


class Busy(ConnectionError):
    """An error of the user's own, with bases."""


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Shop:
    @staticmethod
    def sell(count: int) -> str:
        return f"sold {count}"


def add(left: int, right: int = 1) -> int:
    return left + right


def pid() -> int:
    return os.getpid()


def greet(to: Address, day: date) -> str:
    return f"{to} {day!r}"


def about(run: Run) -> str:
    return f"{run.key} {run.fence} {run.attempt} {run.fire_time} {run.previous} {run.payload}"


def tell(run: Run) -> None:
    run.heartbeat(0.25, "begun")
    run.log("a line of the log")
    run.heartbeat(note="half")


def tell_and_wait(run: Run, path: str) -> None:
    """Speaks, and goes on only when the file is there."""
    run.heartbeat(0.5, "waiting")
    run.log("heard?")
    while not Path(path).exists():
        time.sleep(0.005)


def run_context(run: Run) -> None:
    run.transaction()


def mention(value: Any) -> Any:
    return value


def write(count: int = 1) -> str:
    sys.stdout.write("printed\n" * count)
    os.write(2, b"by hand\n")
    subprocess.run(["/bin/echo", "by a grandchild"], check=True)
    return "returned"


def write_only() -> None:
    print("only printed")  # noqa: T201 - this is what is tested


def log_it() -> None:
    log = logging.getLogger("shop")
    log.debug("unseen")
    log.info("sold=%d", 1)
    log.warning("sold out")


def busy() -> NoReturn:
    raise Busy("try later")


def forbidden() -> NoReturn:
    raise PermanentFailure("never again")


def later(seconds: float) -> NoReturn:
    raise RetryableFailure("wait", retry_after=timedelta(seconds=seconds))


def snooze(wait: str) -> NoReturn:
    raise Snooze(wait, "the export is not there yet")


def unspeakable() -> NoReturn:
    raise Unspeakable


def interrupted() -> NoReturn:
    raise KeyboardInterrupt


def leave(code: int | str | None) -> NoReturn:
    threading.Thread(target=time.sleep, args=(HANG_S,)).start()
    sys.exit(code)


def vanish(code: int) -> NoReturn:
    os.write(1, b"last words\n")
    os._exit(code)


def fault() -> None:
    ctypes.string_at(0)


def kill_self(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(HANG_S)


def shrug() -> str:
    """Is signalled with its worker, and goes on, unlike the programs that it starts."""
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    ended = subprocess.run(["/bin/sh", "-c", "kill -TERM $$; sleep 600"], check=False)
    return f"still here; the program ended by {-ended.returncode}"


def hog(megabytes: int) -> int:
    return len(bytearray(megabytes * 1_000_000))


def address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def note_and_hang_in_c(path: str) -> None:
    """Writes its pid, and then is in the regex engine, with the interpreter's lock, for years."""
    Path(path).write_text(f"{os.getpid()}\n")
    re.match(r"(a+)+$", "a" * 64 + "b")


def family(path: str) -> None:
    """A grandchild that ignores SIGTERM, and a child that ignores everything it can."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    script = f"trap '' TERM; echo $$ >> {path}; sleep 600"
    grandchild = subprocess.Popen(["/bin/sh", "-c", script])
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()}\n")
    grandchild.wait()


def obedient(run: Run, path: str) -> str:
    """Notices that it should stop, and says so."""
    Path(path).write_text(f"{os.getpid()}\n")
    while not run.cancelled:
        time.sleep(0.005)
    print("stopping, as asked", flush=True)  # noqa: T201 - this is what is tested
    return "stopped"


def spin(path: str, seconds: float) -> None:
    """Pure Python that never lets go of the processor."""
    Path(path).write_text(f"{os.getpid()}\n")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def close_the_line() -> None:
    """Closes everything it was not given by name, as a careless daemon does."""
    os.closerange(3, 256)


def fork_and_die(path: str) -> None:
    """The fork keeps every descriptor open, the line too; its parent dies."""
    if os.fork() == 0:
        Path(path).write_text(f"{os.getpid()}\n")
        time.sleep(HANG_S)
    while not Path(path).exists():
        time.sleep(0.005)
    os._exit(3)


async def asynchronous() -> None: ...
