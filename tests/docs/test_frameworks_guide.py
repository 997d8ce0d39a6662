"""What the guide shows of a mounted dashboard stands in the examples, which run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "frameworks.md").read_text("utf-8")
PART = GUIDE.partition("## The dashboard inside your application")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PART, re.MULTILINE | re.DOTALL)
EXAMPLES = [*(ROOT / "examples" / "web").glob("*.py"), ROOT / "examples" / "django" / "shop" / "asgi.py"]


def test_the_guide_shows_both() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS)
def test_what_the_guide_shows_is_what_runs(block: str) -> None:
    assert any(block in one.read_text("utf-8") for one in EXAMPLES)
