"""Addresses of what has any name at all."""

from urllib.parse import quote, unquote

import pytest

from fencepost.web.dashboard import links

HARD = ("plain-1.2_3~4", "a#2026-03-01T00:00:00Z#1", "a/b%2F?c=d&e", "ümlaut ☃ \U0001f600", "..", "a\nb", "")


@pytest.mark.parametrize("key", HARD)
def test_no_run_key_is_more_or_less_than_one_part_of_a_path(key: str) -> None:
    part = links.run(key).removeprefix("/runs/")
    assert part == quote(key, safe="")
    assert unquote(part) == key
