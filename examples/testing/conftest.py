"""Which application the bench is for."""

import pytest
import shop

from fencepost import Fencepost


@pytest.fixture
def fencepost_app() -> Fencepost:
    shop.outside = shop.Outside()
    return shop.app
