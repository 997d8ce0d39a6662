"""Retention is never so short that something still asked about is forgotten."""

from __future__ import annotations

import pytest

from fencepost.core.retention import RETENTION_MIN_S, checked_retention_s
from fencepost.errors import InvalidSettings


@pytest.mark.parametrize("retention_s", [RETENTION_MIN_S, RETENTION_MIN_S + 1, 30 * 86_400.0])
def test_a_long_retention_is_taken_as_it_is(retention_s: float) -> None:
    assert checked_retention_s(retention_s) == retention_s


@pytest.mark.parametrize("retention_s", [RETENTION_MIN_S - 1, 1.0, 0.0, -1.0])
def test_a_short_retention_is_refused_with_the_least_that_would_do(retention_s: float) -> None:
    with pytest.raises(InvalidSettings, match="at least 3600 s"):
        checked_retention_s(retention_s)
