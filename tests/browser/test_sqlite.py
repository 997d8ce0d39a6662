"""The browser before a live cluster on SQLite."""

from __future__ import annotations

import pytest

from tests.browser.changes import Schedules
from tests.browser.door import Door
from tests.browser.keyboard import Keyboard
from tests.browser.run_changes import Gates, Runs, Tokens
from tests.browser.walk import Access, ViewersOnly, Walk
from tests.browser.writing import LivePreview, Writing

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('shop') / 'store.db'}"


class TestViewer(ViewersOnly):
    pass


class TestDoor(Door):
    pass


class TestSchedules(Schedules):
    pass


class TestWriting(Writing):
    pass


class TestLivePreview(LivePreview):
    pass


class TestRuns(Runs):
    pass


class TestTokens(Tokens):
    pass


class TestWalk(Walk):
    pass


class TestAccess(Access):
    pass


class TestKeyboard(Keyboard):
    pass


class TestGates(Gates):
    pass
