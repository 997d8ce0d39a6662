"""The whole of the contracts is no less than their sum."""

from __future__ import annotations

from collections import Counter

from fencepost.testing.conformance.whole import StoreConformance


def test_no_behaviour_hides_another_of_the_same_name() -> None:
    names = Counter(name for base in StoreConformance.__bases__ for name in vars(base) if name[:5] == "test_")
    assert [name for name, times in names.items() if times > 1] == []
    assert len(names) > 200
