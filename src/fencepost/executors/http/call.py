"""One call as a job states it: every word checked once, when the job is defined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.executors.http.address_guard import Guard
from fencepost.executors.http.answers import SUCCESS_DEFAULT, parse_success
from fencepost.executors.http.body import NoBody, Template, WholePayload
from fencepost.executors.http.headers import checked_headers
from fencepost.executors.http.limits import (
    ANSWER_BYTES_MAX,
    DEADLINE_DEFAULT,
    DEADLINE_MAX,
    PORTS_DEFAULT,
    PORTS_MAX,
    REDIRECTS_MAX,
)
from fencepost.executors.http.secrets import parse_references
from fencepost.executors.http.target import USUAL_PORTS, Target, parse_target
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.quoting import quoted
from fencepost.model.sizes import parse_size
from fencepost.telemetry.secret_source import Source

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
WITH_BODY = ("PATCH", "POST", "PUT")
WITHOUT_BODY = ("GET", "HEAD")
WORDS = (
    *("url", "method", "headers", "body", "success", "secret", "deadline", "answer_max"),
    *("allow_private", "ports", "schemes", "redirects"),
)

Body: TypeAlias = NoBody | Template | WholePayload


@dataclass(frozen=True)
class HttpCall:
    """What is sent, where, and what counts as done. Its representation holds nothing secret."""

    target: Target = field(repr=False)
    method: str
    guard: Guard
    headers: Mapping[str, str] = field(repr=False)
    body: Body = field(repr=False)
    success: frozenset[int] = field(repr=False)
    secrets: tuple[Source, ...]
    deadline: timedelta
    answer_bytes_max: int
    redirects: int

    @property
    def reads_files(self) -> bool:
        """Whether a secret of this call is kept in a file."""
        texts = (*(one.text for one in self.secrets), *self.headers.values())
        return any(one.startswith("file:") for one in texts)


def http_call(
    url: str,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    success: Iterable[int | str] = SUCCESS_DEFAULT,
    secret: str | Iterable[str] | None = None,
    deadline: Duration = DEADLINE_DEFAULT,
    answer_max: int | str = ANSWER_BYTES_MAX,
    allow_private: bool = False,
    ports: Iterable[int] = PORTS_DEFAULT,
    schemes: Iterable[str] | None = None,
    redirects: int = 0,
) -> HttpCall:
    """A call from the words people use; whatever is wrong is refused here, in one line."""
    if type(allow_private) is not bool:
        raise InvalidSpec(f"allow_private: {quoted(allow_private)}: expected true or false")
    guard = Guard(_schemes(schemes, allow_private), _ports(ports), allow_private)
    target = parse_target(url)
    guard.check(target)
    verb = _method(method)
    return HttpCall(
        target=target,
        method=verb,
        guard=guard,
        headers=checked_headers(headers or {}),
        body=_body(verb, body),
        success=parse_success(_listed("success", success)),
        secrets=() if secret is None else parse_references(secret),
        deadline=_deadline(deadline),
        answer_bytes_max=_answer_max(answer_max),
        redirects=_redirects(redirects),
    )


def _method(method: object) -> str:
    verb = method.upper() if isinstance(method, str) else ""
    if verb not in METHODS:
        raise InvalidSpec(f"method: {quoted(method)}: expected one of {', '.join(METHODS)}")
    return verb


def _body(method: str, body: Any) -> Body:
    if body is None:
        return WholePayload() if method in WITH_BODY else NoBody()
    if method in WITHOUT_BODY:
        raise InvalidSpec(f"body: a {method} has none; use POST, or leave the body out")
    return Template(body)


def _schemes(schemes: Iterable[str] | None, allow_private: bool) -> tuple[str, ...]:
    """HTTPS unless said otherwise; within one's own network plain HTTP as well."""
    if schemes is None:
        return ("https", "http") if allow_private else ("https",)
    given = _listed("schemes", schemes)
    if not given or any(one not in USUAL_PORTS for one in given):
        raise InvalidSpec(f'schemes: {quoted(given)}: expected "https", "http" or both in a list')
    return tuple(given)


def _ports(ports: Iterable[int]) -> tuple[int, ...]:
    given = _listed("ports", ports)
    fine = all(type(one) is int and 1 <= one <= 65_535 for one in given)
    if not fine or not 1 <= len(given) <= PORTS_MAX:
        raise InvalidSpec(f"ports: {quoted(given)}: expected a list of port numbers such as [443, 8443]")
    return tuple(given)


def _deadline(deadline: Duration) -> timedelta:
    length = parse_duration(deadline)
    if not timedelta() < length <= DEADLINE_MAX:
        raise InvalidSpec(
            f"deadline: {format_duration(length)}: expected more than nothing and at most "
            f"{format_duration(DEADLINE_MAX)}"
        )
    return length


def _answer_max(size: int | str) -> int:
    number = parse_size(size)
    if number > ANSWER_BYTES_MAX:
        raise InvalidSpec(f"answer_max: {quoted(size)}: the ledger keeps at most {ANSWER_BYTES_MAX} bytes")
    return number


def _redirects(number: object) -> int:
    if type(number) is not int or not 0 <= number <= REDIRECTS_MAX:
        raise InvalidSpec(f"redirects: {quoted(number)}: expected 0 (none) to {REDIRECTS_MAX}")
    return number


def _listed(word: str, given: object) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidSpec(f"{word}: {quoted(given)}: expected a list")
    return list(given)
