"""Amounts of memory as people write them."""

from typing import Any

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.sizes import parse_size

SIZES: list[tuple[Any, int]] = [
    *((7, 7), ("0", 0), ("512", 512), ("64KB", 64_000), ("64 kb", 64_000), ("2MiB", 2 << 20), ("1B", 1)),
]


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_sizes_as_people_write_them(text: Any, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "KB", "-1", -2, 1.5, True, "1PB", "1.5KB", "٣", None, "1" * 20])
def test_what_is_no_size_is_refused(text: Any) -> None:
    with pytest.raises(InvalidSpec, match="expected bytes such as"):
        parse_size(text)
