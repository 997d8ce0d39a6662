"""The generated pages say what the code says."""

from pathlib import Path

import pytest

from fencepost.config import setting_names
from fencepost.model.run import RunState
from fencepost.model.variables import PAGE
from scripts.docs import MEANINGS, pages
from scripts.settings_page import meanings

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text("utf-8") == pages()[path], "run: make docs"


def test_every_state_has_a_meaning() -> None:
    assert set(MEANINGS) == set(RunState)


def test_no_setting_is_without_a_meaning_on_the_page_that_refusals_name() -> None:
    assert [name for name, meaning in meanings() if meaning] == setting_names()
    assert Path(PAGE) in [path.relative_to(ROOT) for path in pages()]
