"""The generated pages say what the code says."""

from pathlib import Path

import pytest

from fencepost.model.run import RunState
from scripts.docs import MEANINGS, pages


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == pages()[path], "run: make docs"


def test_every_state_has_a_meaning() -> None:
    assert set(MEANINGS) == set(RunState)
