"""The page about stores says what is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/writing-a-store.md").read_text("utf-8")
EXAMPLE = [
    (ROOT / "examples/row_store" / name).read_text("utf-8") for name in ("journal.py", "test_journal.py")
]


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
def test_the_page_shows_no_code_but_the_examples(code: str) -> None:
    assert any(code in text for text in EXAMPLE), code


def test_every_method_is_on_the_page() -> None:
    port = (ROOT / "src/fencepost/ports/rows.py").read_text("utf-8")
    methods = re.findall(r"    (?:async )?def (\w+)\(", port)
    assert [name for name in methods if f"`{name}" not in GUIDE] == []
    assert len(methods) == 13
