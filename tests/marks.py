"""What is tried only by `make proof`."""

from __future__ import annotations

from typing import Any

import pytest


def in_proof(*values: Any) -> list[Any]:
    """Further parameters of a test of which `make test` tries one."""
    return [pytest.param(one, marks=pytest.mark.proof) for one in values]
