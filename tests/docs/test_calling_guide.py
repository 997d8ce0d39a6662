"""The guide to calling jobs: its programs run, line by line, in plain code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fencepost.services.bridge import bridge
from tests.cli.forks import ROOT

GUIDE = ROOT / "docs" / "guides" / "calling.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_what_the_guide_says_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(GUIDE.read_text("utf-8"))
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    key, created, state = capsys.readouterr().out.split()
    assert key.startswith("resize#")
    assert (created, state) == ("True", "ready")
    assert [one.key for one in names["handles"]] == ["resize#one", "resize#two"]
    bridge().call(names["app"].close())
