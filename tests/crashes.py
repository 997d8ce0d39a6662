"""A worker of pytest that ends by itself, with how it ended and where it was in each thread."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

FAULT = pytest.StashKey[IO[bytes]]()
EXIT_TIMEOUT_S = 10.0


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """In a worker: what a fatal signal leaves behind goes into a file, which outlives the worker."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.stash[FAULT] = _fault_of(worker["testrunuid"], worker["workerid"]).open("wb")
        faulthandler.enable(config.stash[FAULT])


def pytest_unconfigure(config: pytest.Config) -> None:
    if FAULT in config.stash:
        faulthandler.disable()
        config.stash[FAULT].close()
        Path(config.stash[FAULT].name).unlink()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: pytest.TestReport) -> None:
    """In the process that the workers belong to: say how this one ended."""
    worker = report.node
    fault = _fault_of(worker.workerinput["testrunuid"], worker.workerinput["workerid"])
    code = None
    with suppress(subprocess.TimeoutExpired):
        code = worker.gateway._io.popen.wait(EXIT_TIMEOUT_S)
    said = fault.read_text() if fault.exists() else ""
    report.longrepr = f"{report.longrepr}, with exit code {code}\n{said}"
    fault.unlink(missing_ok=True)


def _fault_of(run: str, worker: str) -> Path:
    return Path(tempfile.gettempdir()) / f"fencepost-tests-{os.getuid()}-{run}-{worker}.fault"
