"""The bad disks are as bad as they say, and do not outlive their tests."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.disks import MIB, DiskMissing, LoopDisk, fill, loop_disk, small_disk
from tests.servers.process import wait_until

ROOT = Path(__file__).parents[2]
MOUNTS = Path("/proc/self/mounts")
KILLED = """
import time
from tests.servers.disks import small_disk
with small_disk(4096 * 16) as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def small() -> Iterator[Path]:
    try:
        with small_disk(MIB) as folder:
            yield folder
    except DiskMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def disk() -> Iterator[LoopDisk]:
    try:
        with loop_disk() as disk:
            yield disk
    except DiskMissing as missing:
        pytest.skip(str(missing))


def test_a_full_disk_takes_not_one_byte_until_there_is_room(small: Path) -> None:
    (small / "file").touch()
    ballast = fill(small)
    with pytest.raises(OSError, match="space") as refused:
        (small / "file").write_text("x")
    assert refused.value.errno == errno.ENOSPC
    ballast.unlink()
    (small / "file").write_text("x")


def test_a_power_cut_loses_what_was_not_flushed_and_nothing_else(disk: LoopDisk, tmp_path: Path) -> None:
    with (disk.folder / "flushed").open("wb") as file:
        file.write(b"kept")
        file.flush()
        os.fsync(file.fileno())
    with (disk.folder / "flushed").open("ab") as file:
        file.write(b", and lost")
    with loop_disk(disk.cut_power(tmp_path / "copy")) as found:
        assert (found.folder / "flushed").read_bytes() == b"kept"


def test_without_root_one_line_says_that_there_is_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DiskMissing, match="takes root"), small_disk(MIB):
        pass


@pytest.mark.usefixtures("small")
def test_no_disk_outlives_a_test_that_was_killed() -> None:
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        assert folder in MOUNTS.read_text()
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: folder not in MOUNTS.read_text(), lambda: f"{folder} is still mounted")
