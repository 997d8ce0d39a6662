"""How many examples a property is tried on: a quarter of them in `make test`, all in `make proof`."""

from __future__ import annotations

import os

from hypothesis import settings

SHARE = float(os.environ.get("FENCEPOST_TEST_EXAMPLES", "0.25"))
FEWEST = 10
USUAL = 100


def examples(number: int = USUAL) -> settings:
    """Hypothesis' settings for a property that is worth so many examples."""
    return settings(max_examples=max(FEWEST, round(number * SHARE)), deadline=None)
