"""How many connections there may be, by how many files may be open."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from fencepost.web.connections import CONNECTIONS_MAX, DESCRIPTORS_MAX, ConnectionLimit, connections_max

NO_LIMIT = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "most"),
    [
        (1_024, 1_024, 1_024, 512),
        (256, 4_096, 4_096, CONNECTIONS_MAX),
        (256, 600, 600, 300),
        (1_024, 1_048_576, DESCRIPTORS_MAX, CONNECTIONS_MAX),
        (1_024, NO_LIMIT, DESCRIPTORS_MAX, CONNECTIONS_MAX),
        (100_000, 100_000, 100_000, CONNECTIONS_MAX),
        (NO_LIMIT, NO_LIMIT, NO_LIMIT, CONNECTIONS_MAX),
    ],
)
def test_the_limit_is_raised_and_half_of_it_kept(
    soft: int, hard: int, raised: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.append(given))
    assert connections_max() == most
    assert limits[-1] == (raised, hard)


def test_a_limit_that_may_not_be_raised_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (512, 4_096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert connections_max() == 256


class Member:
    """One that says when it goes."""

    def __init__(self, gone: list[Member]) -> None:
        self._gone = gone

    def drop(self) -> None:
        self._gone.append(self)


def test_when_it_closes_the_silent_go_and_nobody_comes() -> None:
    gone: list[Member] = []
    limit = ConnectionLimit()
    silent, resting, answered, late = (Member(gone) for _ in range(4))
    for one in (silent, resting, answered):
        limit.enter(one)
    limit.ask(answered)
    limit.rest(resting)
    limit.close()
    assert gone == [silent]
    limit.enter(late)
    assert (gone, len(limit)) == ([silent, late], 2)
