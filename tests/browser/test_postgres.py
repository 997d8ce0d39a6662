"""The browser before a live cluster on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.changes import Schedules
from tests.browser.door import Door
from tests.browser.run_changes import Gates, Runs, Tokens
from tests.browser.walk import ViewersOnly, Walk

if TYPE_CHECKING:
    from tests.servers.postgres import PostgresDatabases

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def store(postgres_server: PostgresDatabases) -> Iterator[str]:
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


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
