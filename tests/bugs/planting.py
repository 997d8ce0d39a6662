"""A test, run in a process of its own with a bug planted in it.

The processes are forked from one that has imported the bank already, and what most tests need: to import
that takes longer than they do.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.bugs.bug import Bug

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = (
    "-q",
    "-x",
    "--no-header",
    "--tb=no",
    "--assert=plain",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:unraisableexception",
)
"""Plain assertions: why a test failed is not told, and what was imported before needs no rewriting. Nor is
looked at what a test leaves open that fails in its middle."""
PRELOADED = [
    "tests.bugs.bank",
    "tests.servers.fixtures",
    "fencepost.testing.conformance.whole",
    "hypothesis.stateful",
    "pytest_asyncio.plugin",
]
TEST_S_MAX = 120.0


@dataclass
class Outcome:
    """How the test went with the bug in it."""

    exit_code: int
    failed: list[str] = field(default_factory=list)
    printed: str = ""


def run_with(bug: Bug) -> Outcome:
    """Run the test that is to notice the bug."""
    forking = get_context("forkserver")
    forking.set_forkserver_preload(PRELOADED)
    here, there = forking.Pipe(duplex=False)
    process = forking.Process(target=_run, args=(bug.name, there))
    process.start()
    there.close()
    try:
        if not here.poll(TEST_S_MAX):
            raise TimeoutError(f"{bug.caught_by} did not end within {TEST_S_MAX:g} s")
        outcome = here.recv()
    finally:
        process.kill()
        process.join()
        here.close()
    assert isinstance(outcome, Outcome)
    return outcome


class _Witness:
    """Notes which tests failed, but not those that could not even begin."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when == "call":
            self.failed.append(report.nodeid)


def _run(name: str, told: Connection) -> None:
    with tempfile.TemporaryFile("w+b") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
        witness = _Witness()
        try:
            code = _run_pytest(name, witness)
        except BaseException:
            traceback.print_exc()
            code = pytest.ExitCode.INTERNAL_ERROR
        sys.stderr.flush()
        printed.seek(0)
        told.send(Outcome(int(code), witness.failed, printed.read().decode(errors="replace")))


def _run_pytest(name: str, witness: _Witness) -> int | pytest.ExitCode:
    from tests.bugs.bank import BY_NAME

    os.environ["FENCEPOST_TEST_EXAMPLES"] = "1"
    os.chdir(ROOT)
    bug = BY_NAME[name]
    with bug.plant():
        return pytest.main([*ARGUMENTS, bug.caught_by], plugins=[witness])
