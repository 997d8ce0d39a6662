"""What a type checker sees of calls of jobs: mypy, and pyright where there is Node."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.forks import ROOT

CALLS = Path(__file__).parent / "typed" / "calls.py"
PYRIGHT = "pyright@1.1.414"
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
    refused = {int(one.split(":")[1]) for one in done.stdout.splitlines() if ": error: " in one}
    assert refused == wrong_lines(), done.stdout


@pytest.mark.proof
def test_pyright_refuses_the_wrong_calls_and_no_others() -> None:
    """It begins a Node, and the first time fetches pyright: a quarter of a minute."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("no npx, which fetches pyright: apt-get install nodejs npm")
    done = subprocess.run(
        [npx, "--yes", PYRIGHT, "--pythonpath", sys.executable, "--outputjson", str(CALLS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if not done.stdout:
        pytest.skip(f"npx {PYRIGHT}: {done.stderr.strip().splitlines()[-1:]}; npm needs its registry once")
    complaints = json.loads(done.stdout)["generalDiagnostics"]
    refused = {one["range"]["start"]["line"] + 1 for one in complaints if one["severity"] == "error"}
    assert refused == wrong_lines(), done.stdout


def wrong_lines() -> set[int]:
    lines = CALLS.read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# WRONG")}
