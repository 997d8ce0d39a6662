"""The example of an application with tests: its tests pass, in a process of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "testing"


@pytest.mark.proof
def test_the_example_passes_its_own_tests(tmp_path: Path) -> None:
    (tmp_path / "none.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-c",
        "/dev/null",
        ".",
    ]
    said = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=100)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "5 passed" in said.stdout
