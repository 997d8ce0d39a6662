"""`python -m tests.proof`: everything that takes long, part by part, and one summary page at the end.

A part that fails does not stop the others. The page is printed and written to `build/proof/summary.md`, what
each part printed stands beside it. Ends with 1 where a part failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/proof"
PYTEST = ("-m", "pytest", "-q")
AT_ONCE = ("-n", "4", "--dist", "worksteal")
EXAMPLE = "example: python -m tests.proof --only simulator --only browser"
LINES_MAX = 8


@dataclass(frozen=True)
class Part:
    """One part: what it proves, and the Python command that does it."""

    name: str
    proves: str
    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """How a part ended, in how long, and the last lines that it printed."""

    part: Part
    exit_code: int
    took_s: float
    said: Sequence[str]


PARTS = (
    Part(
        "long-tests",
        "the bug bank, the model, crash points, failovers, plans on a million runs",
        (
            *PYTEST,
            *AT_ONCE,
            "--ignore",
            "tests/floods",
            "-m",
            "proof and not chaos and not browser and not kubernetes",
        ),
    ),
    Part(
        "properties",
        "no property fails, on four times the examples of make test",
        (*PYTEST, *AT_ONCE, "--ignore", "tests/web/test_schema.py", "-m", "hypothesis and not proof"),
        {"FENCEPOST_TEST_EXAMPLES": "1"},
    ),
    Part(
        "floods",
        "no flood of requests makes a tick late or costs a lease, on SQLite and PostgreSQL",
        (*PYTEST, "-s", "-m", "proof", "tests/floods"),
    ),
    Part(
        "equivalence",
        "every store does what the memory store does",
        (*PYTEST, "-n", "2", "tests/conformance/test_equivalence.py"),
        {"FENCEPOST_TEST_LIVES": "30"},
    ),
    Part(
        "oracle",
        "no fire time differs from the brute-force oracle's, in 250,000 random cases",
        (*PYTEST, *AT_ONCE, "tests/triggers/test_cron_oracle.py"),
        {"FENCEPOST_TEST_ORACLE_CASES": "250000"},
    ),
    Part(
        "api",
        "no request makes the API break its own description, with many more requests than in make test",
        (*PYTEST, "tests/web/test_schema.py"),
        {"FENCEPOST_TEST_SCHEMA_EXAMPLES": "20"},
    ),
    Part(
        "browser",
        "every page and every change in Chromium, on SQLite and PostgreSQL",
        (*PYTEST, "-n", "2", "--dist", "loadfile", "-m", "browser"),
    ),
    Part(
        "drills",
        "no tick and no effect is lost or doubled while processes, disks and servers fail",
        (*PYTEST, "-m", "chaos"),
    ),
    Part(
        "simulator",
        "50 worlds of 6 hours keep every invariant, and are the same when repeated",
        ("-m", "tests.simulation", "--seeds", "50", "--hours", "6"),
    ),
    Part(
        "messages",
        "40 worlds of 3 hours with a message broker keep every invariant, and are the same when repeated",
        ("-m", "tests.simulation", "--messages", "--seeds", "40", "--hours", "3"),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module."""
    chosen = _parser().parse_args(arguments).only or [part.name for part in PARTS]
    FOLDER.mkdir(parents=True, exist_ok=True)
    results = [_run(part) for part in PARTS if part.name in chosen]
    page = "\n".join(_page(results))
    (FOLDER / "summary.md").write_text(page + "\n", "utf-8")
    print(page)
    return 1 if any(one.exit_code for one in results) else 0


def _run(part: Part) -> Result:
    """The part, with its output passed on as it comes."""
    print(f"== {part.name}: {part.proves}", flush=True)
    began, lines = time.monotonic(), list[str]()
    with (
        (FOLDER / f"{part.name}.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [sys.executable, *part.command],
            cwd=ROOT,
            env={**os.environ, **part.environment},
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            log.write(line)
            lines = [*lines[1 - LINES_MAX :], line.rstrip()]
    return Result(part, process.returncode, time.monotonic() - began, lines)


def _page(results: Sequence[Result]) -> Iterator[str]:
    yield "# Proof\n"
    yield "| part | proves | result | took |"
    yield "| --- | --- | --- | --- |"
    for one in results:
        result = "passed" if one.exit_code == 0 else f"FAILED (exit {one.exit_code})"
        yield f"| {one.part.name} | {one.part.proves} | {result} | {one.took_s / 60:.1f} min |"
    for one in results:
        yield f"\n## {one.part.name}\n"
        yield from (f"    {line}" for line in one.said if line)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__, epilog=EXAMPLE)
    names = [part.name for part in PARTS]
    parser.add_argument("--only", action="append", choices=names, help="only this part; may be repeated")
    return parser


if __name__ == "__main__":
    sys.exit(main())
