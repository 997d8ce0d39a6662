"""Debian's promtool, where it is installed; where the house is checked it has to be."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
PROMTOOL = shutil.which("promtool")

needs_promtool = pytest.mark.skipif(
    PROMTOOL is None and not os.environ.get("CI"), reason="promtool is not installed: apt install prometheus"
)


def promtool(*arguments: str | Path, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """What it says, on both streams together."""
    assert PROMTOOL is not None, "promtool is not installed"
    return subprocess.run(
        [PROMTOOL, *map(str, arguments)],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
