"""Disks that lose their power, run full or fail, for stores that live in files.

The bad disk is a filesystem of its own, mounted for one test and taken away at its end, whatever happened.
That needs root; where it cannot be had, `DiskMissing` says in one line why not. Like the servers, a disk does
not outlive its test: a shell holds the other end of a pipe, and unmounts when the pipe breaks.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.guard import guard

MIB = 1 << 20
COMMAND_TIMEOUT_S = 60.0
COPY_TRIES_MAX = 20
EXT4_OPTIONS = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]
"""All of it made at once: nothing is left for the kernel to write later."""
WRITES_DONE, SECTORS_WRITTEN, IN_FLIGHT = 4, 6, 8
"""Where the kernel counts these in what it knows of a device."""
UNMOUNT = """
trap '' HUP INT TERM
read -r line
umount "$1" || umount --lazy "$1"
"""


class DiskMissing(Exception):
    """There is no such disk to be had on this machine; the text says why."""


class LoopDisk:
    """ext4 in a file. The file has what has reached the disk, and nothing that only the kernel knows."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.image = image
        self.folder = folder

    def cut_power(self, copy: Path) -> Path:
        """The disk as it would be found after a power cut at this moment.

        Nobody may write meanwhile, or the copy would show two moments at once: whoever has the disk in use is
        to be frozen. What the kernel then writes back by itself is noticed, and the copy taken again.
        """
        for _ in range(COPY_TRIES_MAX):
            before = self._written()
            _run("cp", "--sparse=always", self.image, copy)
            if before is not None and self._written() == before:
                return copy
        raise AssertionError("the disk is written to all the time")

    def _written(self) -> tuple[str, str] | None:
        """How much has been written to the device so far; nothing while a write is on its way."""
        device = _run("findmnt", "--noheadings", "--output", "SOURCE", self.folder).strip()
        counts = Path("/sys/class/block", Path(device).name, "stat").read_text().split()
        return None if int(counts[IN_FLIGHT]) else (counts[WRITES_DONE], counts[SECTORS_WRITTEN])


@contextmanager
def loop_disk(image: Path | None = None, size_bytes: int = 64 * MIB) -> Iterator[LoopDisk]:
    """A new disk, or the one in the image: mounting it is what a machine does when its power is back."""
    folder = guard().create_folder("disk")
    if image is None:
        image = folder / "image"
        with image.open("wb") as file:
            file.truncate(size_bytes)
        _run("mkfs.ext4", *EXT4_OPTIONS, image)
    try:
        with _mounted(folder / "mounted", "-o", "loop", image) as mounted:
            yield LoopDisk(image, mounted)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def small_disk(size_bytes: int) -> Iterator[Path]:
    """A folder with so much room, and no more."""
    folder = guard().create_folder("disk")
    try:
        with _mounted(folder / "mounted", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs") as mounted:
            yield mounted
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fill(folder: Path) -> Path:
    """Leave no room on its disk; remove the file that this returns to have it back."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for piece in (MIB, 4096, 1):
            _write_until_full(file.fileno(), b"\0" * piece)
    return ballast


class FailingFlushes:
    """A disk that answers with an I/O error when processes ask it to keep what they wrote to certain files.

    SQLite asks by `fdatasync`. What was written is in the kernel's memory all the same, as on a real disk.
    """

    def __init__(self, pids: Iterable[int], files: Iterable[Path], calls: str, folder: Path) -> None:
        self._log = folder / "strace"
        what = ["-e", "trace=fdatasync", "-e", f"inject=fdatasync:error=EIO:when={calls}"]
        where = [word for file in files for word in ("-P", str(file))]
        who = [word for pid in pids for word in ("-p", str(pid))]
        command = ["strace", "-f", "-qq", "-o", str(self._log), *what, *where, *who]
        if shutil.which("strace") is None:
            raise DiskMissing("no failing disk: strace is not installed; apt-get install strace")
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
        guard().hold(self._process.pid)

    @property
    def failed(self) -> int:
        """How many times it has failed so far."""
        if (code := self._process.poll()) is not None:
            assert self._process.stderr is not None
            raise DiskMissing(f"no failing disk: strace ended with {code}: {self._process.stderr.read()!r}")
        return self._log.read_text().count("(INJECTED)") if self._log.exists() else 0

    def close(self) -> None:
        """Let go of the processes, which go on with a good disk."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=COMMAND_TIMEOUT_S)
        guard().let_go(self._process.pid)


@contextmanager
def _mounted(folder: Path, *what: str | Path) -> Iterator[Path]:
    folder.mkdir()
    if os.geteuid() != 0:
        raise DiskMissing("no disk of our own: mounting one takes root")
    _run("mount", *what, folder)
    unmounter = subprocess.Popen(
        ["sh", "-c", UNMOUNT, "unmounter", str(folder)], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield folder
    finally:
        unmounter.communicate(timeout=COMMAND_TIMEOUT_S)


def _write_until_full(descriptor: int, piece: bytes) -> None:
    try:
        while os.write(descriptor, piece):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def _run(*command: str | Path) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=True)
    except FileNotFoundError:
        raise DiskMissing(f"no disk of our own: {command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise DiskMissing(f"no disk of our own: {command[0]}: {error.stderr.strip()}") from None
    return done.stdout
