"""What a type checker sees of calls of jobs. mypy is held to it here; pyright comes with a runtime of its own
that pip does not bring, so it is run by hand: `pyright tests/app/typed/calls.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.forks import ROOT

CALLS = Path(__file__).parent / "typed" / "calls.py"
CONFIG = """
[mypy]
strict = true
mypy_path = {source}
explicit_package_bases = true
warn_unused_ignores = false
"""


def test_mypy_refuses_the_wrong_calls_and_no_others(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text(CONFIG.format(source=ROOT / "src"))
    cache = ROOT / ".mypy_cache" / "calls"
    words = ["--config-file", config, "--cache-dir", cache, "--no-error-summary", CALLS]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.stderr == ""
    refused = {_line(one) for one in done.stdout.splitlines() if ": error: " in one}
    wrong = {
        number for number, line in enumerate(CALLS.read_text().splitlines(), 1) if line.endswith("# WRONG")
    }
    assert refused == wrong, done.stdout


def _line(complaint: str) -> int:
    return int(complaint.split(":")[1])
