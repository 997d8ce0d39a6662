"""The browser before a live cluster on MongoDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.changes import Schedules
from tests.browser.cluster import Cluster
from tests.browser.door import Door
from tests.browser.run_changes import Gates, Runs, Tokens
from tests.browser.walk import ViewersOnly, Walk

if TYPE_CHECKING:
    from tests.servers.process import Address

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def store(mongo_server: Address) -> str:
    url = mongo_server.url.replace("/?", "/browsed?")
    Cluster(url).told("migrate")
    return url


class TestViewer(ViewersOnly):
    pass


class TestDoor(Door):
    pass


class TestSchedules(Schedules):
    pass


class TestRuns(Runs):
    pass


class TestTokens(Tokens):
    pass


class TestWalk(Walk):
    pass


class TestGates(Gates):
    pass
