"""What it costs to begin: the import, and the shortest command."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.report import Figure, heading, median

TRIES = 7
IMPORT_S, VERSION_S = 0.25, 0.1
IMPORT = (
    "import time; t = time.process_time(); from fencepost import Fencepost; print(time.process_time() - t)"
)
FENCEPOST = str(Path(sys.executable).with_name("fencepost"))


def measure() -> Iterator[Figure]:
    """Processor seconds of fresh processes, with compiled modules."""
    heading(f"start-up, {TRIES} times")
    _output([FENCEPOST, "--version"])
    _output([sys.executable, "-c", IMPORT])
    imports = [float(_output([sys.executable, "-c", IMPORT])) for _ in range(TRIES)]
    versions = [_processor_s([FENCEPOST, "--version"]) for _ in range(TRIES)]
    for name, spans, limit in (
        ("from fencepost import Fencepost, processor", imports, IMPORT_S),
        ("fencepost --version, processor", versions, VERSION_S),
    ):
        yield Figure(name, median(spans), "s", goal=f"< {limit:g}", good=median(spans) < limit)


def _processor_s(command: Sequence[str]) -> float:
    before = _children_s()
    _output(command)
    return _children_s() - before


def _children_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _output(command: Sequence[str]) -> str:
    compiled = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=compiled)
    return done.stdout
