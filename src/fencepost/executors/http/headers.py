"""Headers: those a job states, and those that every call carries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fencepost.errors import InvalidSpec, RetryableFailure
from fencepost.executors.http.limits import HEADER_LENGTH_MAX, HEADERS_MAX, SECRET_LENGTH_MIN
from fencepost.executors.http.secrets import read_secret
from fencepost.guards.http import header_form
from fencepost.guards.http import headers as of_a_run
from fencepost.model.quoting import quoted
from fencepost.model.secret import is_reference
from fencepost.ports.run import Run
from fencepost.telemetry.secret_source import Source
from fencepost.version import VERSION

OURS = ("idempotency-key", "webhook-", "fencepost-")
OF_THE_CONNECTION = (
    *("accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive"),
    *("te", "trailer", "transfer-encoding", "upgrade"),
)
"""What belongs to one connection or to the form of one message, not to the job."""
SECRET_WORDS = ("auth", "cookie", "key", "password", "secret", "session", "signature", "token")
GO_ANYWHERE = ("accept", "content-type", "user-agent")
"""What may follow a redirect to another origin."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")


def checked_headers(headers: object) -> dict[str, str]:
    """The stated headers, or a refusal that does not repeat their values."""
    if not isinstance(headers, Mapping):
        raise InvalidSpec(f"headers: expected names and texts, not {type(headers).__name__}")
    if len(headers) > HEADERS_MAX:
        raise InvalidSpec(f"headers: {len(headers)} of them; at most {HEADERS_MAX}")
    names: set[str] = set()
    for name, value in headers.items():
        _check_name(name)
        if name.lower() in names:
            raise InvalidSpec(f"headers: {name} is stated twice")
        names.add(name.lower())
        if not isinstance(value, str) or not is_legal_value(value):
            raise InvalidSpec(
                f"headers: {name}: expected up to {HEADER_LENGTH_MAX} visible ASCII characters on one line"
            )
    return dict(headers)


def read_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The stated headers with the secrets that they refer to."""
    return {name: _read(name, value) for name, value in headers.items()}


def secrets_among(stated: Mapping[str, str], read: Mapping[str, str]) -> list[str]:
    """The values that must not be shown: read from a reference, or of a name that says so."""
    return [value for name, value in read.items() if is_reference(stated[name]) or _looks_secret(name, value)]


def about(run: Run) -> dict[str, str]:
    """What every call says of its run."""
    return {"User-Agent": user_agent(), **of_a_run(run), **run.trace_context}


def webhook_id(run_key: str) -> str:
    """As `header_form`, and without dots: they part what is signed."""
    return header_form(run_key).replace(".", "%2E")


def is_legal_value(value: str) -> bool:
    """Whether a text can be a header's value as it stands."""
    return len(value) <= HEADER_LENGTH_MAX and _VALUE.fullmatch(value) is not None


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise InvalidSpec(f"headers: {quoted(name)} is not a header's name")
    lower = name.lower()
    if lower in OF_THE_CONNECTION or lower.startswith("proxy-"):
        raise InvalidSpec(f"headers: {name} belongs to the connection and cannot be stated")
    if lower.startswith(OURS):
        raise InvalidSpec(f"headers: {name} is stated by Fencepost itself")


def _read(name: str, value: str) -> str:
    if not is_reference(value):
        return value
    secret = read_secret(Source(value), name)
    if not is_legal_value(secret):
        raise RetryableFailure(f"secret {name}: {value}: cannot be the value of a header")
    return secret


def _looks_secret(name: str, value: str) -> bool:
    """Short values are words, and striking them out would spoil the text."""
    return len(value) >= SECRET_LENGTH_MIN and any(word in name.lower() for word in SECRET_WORDS)


def user_agent() -> str:
    """Who calls."""
    return f"fencepost/{VERSION}"
