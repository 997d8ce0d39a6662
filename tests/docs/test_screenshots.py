"""Every page of the dashboard has its pictures."""

import pytest

from fencepost.web.dashboard.page import all_pages
from scripts.screenshots import DRESSES, FOLDER, PAGES


def test_every_page_has_a_picture() -> None:
    assert set(PAGES) == {one.path for one in all_pages()}


@pytest.mark.parametrize(("dress", "pages"), [(dress, pages) for dress, _, _, pages in DRESSES])
def test_every_picture_is_there_and_no_other(dress: str, pages: tuple[str, ...]) -> None:
    there = {one.name for one in FOLDER.glob(f"*-{dress}.png")}
    assert there == {f"{PAGES[page]}-{dress}.png" for page in pages}, "run: make screenshots"
