"""A list is whole however many pages it comes in, and no longer than was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.operations import paging
from tests.cli.calls import called, called_json

LISTS = [
    ("schedules", "list"),
    ("runs", "list"),
    ("jobs", "list"),
    ("log",),
    ("token", "list"),
    ("calendars", "list"),
    ("schedules", "history", "report"),
]


@pytest.fixture
def several(used: str) -> str:
    """A store with two and more of each."""
    for name in ("one", "two"):
        called("schedules", "add", name, "--job", "report", "--every", "1h", "--store", used)
        called("calendars", "set", name, "--holiday", "2026-12-24", "--store", used)
        called("token", "create", name, "--role", "viewer", "--store", used)
    called("schedules", "edit", "report", "--every", "2h", "--store", used)
    return used


@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_a_list_goes_on_behind_its_first_page(
    several: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = called_json(*command, "--store", several)
    assert len(whole) >= 2
    monkeypatch.setattr(paging, "LIMIT_MAX", 1)
    assert called_json(*command, "--store", several) == whole


def test_a_list_of_many_pages_ends_where_its_limit_says(
    several: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "LIMIT_MAX", 2)
    listed = ("jobs", "list", "--store", several)
    assert [len(called_json(*listed, "--limit", str(most))) for most in (1, 2, 3)] == [1, 2, 3]


def test_shards_are_listed_to_the_last(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def shards() -> list[Any]:
        found = called_json("leases", "--store", used)
        return [one["shard"] for one in found["shards"]]

    whole = shards()
    assert len(whole) > 3
    monkeypatch.setattr(paging, "LIMIT_MAX", 3)
    assert shards() == whole
