"""One stage for a test."""

import pytest

from tests.web.attacks.stage import Stage


@pytest.fixture
async def stage() -> Stage:
    return await Stage().open()
