"""Rates as people write them."""

import pytest

from fencepost.errors import UsageError
from fencepost.model.rate import parse_rate


@pytest.mark.parametrize(
    ("text", "every_s"),
    [("10/m", 6.0), ("5/s", 0.2), ("100/h", 36.0), (" 1 / d ", 86_400.0), ("100000/s", 1e-5)],
)
def test_a_rate_is_a_distance_in_seconds(text: str, every_s: float) -> None:
    assert parse_rate(text) == pytest.approx(every_s)


@pytest.mark.parametrize(
    "text", ["", "10", "10/", "/m", "0/m", "-1/m", "1.5/m", "10/w", "100001/s", "1/m/m", "٣/m"]
)
def test_what_is_no_rate_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="such as 5/s, 10/m, 100/h"):
        parse_rate(text)
