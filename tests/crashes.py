"""A worker of pytest that ends by itself, with how it ended and where it was in each thread."""

from __future__ import annotations

import faulthandler
import os
import tempfile
from pathlib import Path
from typing import IO

import pytest

FAULT = pytest.StashKey[IO[bytes]]()


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
    code = worker.gateway._io.wait()
    report.longrepr = f"{report.longrepr}, with exit code {code}\n{fault.read_text()}"
    fault.unlink()


def _fault_of(run: str, worker: str) -> Path:
    return Path(tempfile.gettempdir()) / f"fencepost-tests-{os.getuid()}-{run}-{worker}.fault"
