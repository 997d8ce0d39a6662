"""What can go wrong with a request, sorted by the only question that matters: may etcd have carried it out?

Every fault is a `LeaseStoreUnavailable`, so a fault that no code in the package handles means the right thing
outside. A fault that is not known to be a refusal is doubtful.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp

from fencepost.errors import LeaseStoreUnavailable

TEXT_MAX = 200

NOT_FOUND, PERMISSION_DENIED, UNAUTHENTICATED = 5, 7, 16
REFUSALS = frozenset({3, NOT_FOUND, 6, PERMISSION_DENIED, 8, 9, 11, 12, UNAUTHENTICATED})
"""Codes of gRPC with which etcd says that it did nothing. The others also come when it lost sight of a
request."""

TOKEN_FAULTS = ("invalid auth token", "revision of auth store is old")
CREDENTIAL_FAULTS = ("authentication failed", "user name is empty", "authentication is not enabled")


class Fault(LeaseStoreUnavailable):
    """A request without a good answer."""


class NotSent(Fault):
    """No endpoint has received the request."""


class Doubtful(Fault):
    """The request may have been carried out, may yet be, or never will."""


class Refused(Fault):
    """etcd said no, and did nothing."""


class Denied(Refused):
    """etcd refused our credentials or our permissions."""


class StaleToken(Denied):
    """etcd does not know the token any more; a new one may help."""


NOTHING_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


@contextmanager
def translated(endpoint: str) -> Iterator[None]:
    """Turn the driver's faults into ours."""
    try:
        yield
    except NOTHING_SENT as error:
        raise NotSent(f"{endpoint}: {brief(error)}") from error
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise Doubtful(f"{endpoint}: {brief(error)}") from error


def read_answer(endpoint: str, status: int, body: bytes) -> dict[str, Any]:
    """The answer in the body, or the fault that it is. A stream wraps its answers in `result`."""
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and status == 200 and "error" not in answer:
        found: dict[str, Any] = answer.get("result", answer)
        return found
    raise _fault(endpoint, status, answer if isinstance(answer, dict) else {}, body)


def brief(error: BaseException) -> str:
    """The first line of an exception's text, or its name where it has none."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"cannot connect: {_first_line(str(error.certificate_error))}"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        return f"cannot connect: {cause.strerror or _first_line(str(cause)) or type(cause).__name__}"
    return _first_line(str(error)) or type(error).__name__


def _fault(endpoint: str, status: int, answer: dict[str, Any], body: bytes) -> Fault:
    error = answer.get("error", answer)
    if isinstance(error, dict):
        code, text = error.get("grpc_code", error.get("code")), str(error.get("message", ""))
    else:
        code, text = answer.get("code"), str(error)
    shown = _first_line(text or body.decode(errors="replace")) or "an empty answer"
    return _kind(status, code, text)(f"{endpoint}: {shown} (HTTP {status})")


def _kind(status: int, code: object, text: str) -> type[Fault]:
    if any(sign in text for sign in TOKEN_FAULTS):
        return StaleToken
    if code in (PERMISSION_DENIED, UNAUTHENTICATED) or any(sign in text for sign in CREDENTIAL_FAULTS):
        return Denied
    if code in REFUSALS or (code is None and 400 <= status < 500):
        return Refused
    return Doubtful


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")[:TEXT_MAX]
