"""A dashboard over a house that has something of everything."""

import pytest

from tests.web.dashboard.furnished import furnished
from tests.web.dashboard.house import Dashboard, somebody


@pytest.fixture
async def board() -> Dashboard:
    return Dashboard(await furnished(), somebody())
