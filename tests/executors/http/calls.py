"""Calls as the tests make them: on a clock that stands still, with names that resolve as they say."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

import pytest

from fencepost.clock import SystemClock
from fencepost.core.retry_after import parse_retry_after
from fencepost.executors.http import address_guard, http_call
from fencepost.executors.http.address_guard import Resolve, resolved
from fencepost.executors.http.executor import HttpExecutor
from fencepost.executors.http.target import IpAddress

NOW = datetime(2026, 3, 1, 12, 0, 7, tzinfo=UTC)
OUTSIDE = "127.0.0.7"
"""A loopback address that plays one of the public internet; see `with_an_outside`."""


class StillClock(SystemClock):
    """Always the same time of day."""

    def wall(self) -> datetime:
        return NOW


class Names:
    """A resolver with a list of answers for each name, the last one for ever; counts what it is asked."""

    def __init__(self, names: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._names = names
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self._names.get(host)
        if answers is None:
            raise OSError(-2, "Name or service not known")
        return answers[min(self.asked.count(host), len(answers)) - 1]


def calling(
    url: str, *, resolve: Resolve = resolved, tls: ssl.SSLContext | None = None, **words: Any
) -> HttpExecutor:
    """An executor that guards as strictly as it does without any word."""
    return HttpExecutor(
        http_call(url, **words),
        clock=StillClock(),
        read_retry_after=parse_retry_after,
        resolve=resolve,
        tls=tls,
    )


def at(port: int, path: str = "/hook", **words: Any) -> HttpExecutor:
    """An executor that may call this host."""
    return calling(f"http://127.0.0.1:{port}{path}", **{"allow_private": True, "ports": [port], **words})


def with_an_outside(patch: pytest.MonkeyPatch) -> None:
    """Let one loopback address pass the guard as if it were public; all others stay what they are."""
    plain = address_guard._judged_as_it_is

    def judged(address: IpAddress) -> tuple[str | None, bool]:
        return (None, False) if address == ip_address(OUTSIDE) else plain(address)

    patch.setattr(address_guard, "_judged_as_it_is", judged)
