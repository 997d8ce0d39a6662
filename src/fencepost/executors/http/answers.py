"""Answers: what a status means for the run, and what is kept of the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TypeAlias

from fencepost.errors import InvalidSpec, PermanentFailure, RetryableFailure
from fencepost.executors.http.limits import SUCCESS_MAX
from fencepost.model.quoting import quoted

WORTH_A_RETRY = frozenset({408, 425, 429})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
SUCCESS_DEFAULT = ("2xx",)

ReadRetryAfter: TypeAlias = Callable[[str, datetime], timedelta | None]
"""From a `Retry-After` header and the time now to the wait, None where it is nonsense."""

_HUNDRED = re.compile(r"([2-5])xx", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What came back: `body` up to the cap, and whether there was more."""

    status: int
    body: bytes
    cut: bool
    encoding: str
    retry_after: str | None
    location: str | None

    @property
    def text(self) -> str:
        """The body for people. What was packed without our asking is not unpacked."""
        if self.encoding not in ("", "identity") and self.body:
            return f"({len(self.body)} bytes, packed as {quoted(self.encoding)}, not unpacked)"
        return self.body.decode("utf-8", "replace")


def parse_success(given: object) -> frozenset[int]:
    """The codes behind a list such as `["2xx", 409]`."""
    if isinstance(given, str | int) or not isinstance(given, Sequence) or not 1 <= len(given) <= SUCCESS_MAX:
        raise InvalidSpec(f'success: {quoted(given)}: expected a list such as ["2xx", 409]')
    return frozenset(code for one in given for code in _codes(one))


def failure_of(
    answer: Answer, now: datetime, read_retry_after: ReadRetryAfter
) -> RetryableFailure | PermanentFailure:
    """Why an answer that is no success ends the attempt, and whether another may help."""
    if answer.status in WORTH_A_RETRY or answer.status >= 500:
        wait = None if answer.retry_after is None else read_retry_after(answer.retry_after, now)
        return RetryableFailure(told(answer.status), retry_after=wait)
    if answer.status in REDIRECTS:
        return PermanentFailure(f"{told(answer.status)}: a redirect, and the job follows none")
    return PermanentFailure(told(answer.status))


def told(status: int) -> str:
    """`HTTP 503 Service Unavailable`; the words are ours, not the target's."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _codes(one: object) -> range:
    if type(one) is int and 200 <= one <= 599:
        return range(one, one + 1)
    if isinstance(one, str) and (found := _HUNDRED.fullmatch(one)):
        return range(int(found[1]) * 100, int(found[1]) * 100 + 100)
    raise InvalidSpec(f'success: {quoted(one)}: expected a code from 200 to 599, or "2xx"')
