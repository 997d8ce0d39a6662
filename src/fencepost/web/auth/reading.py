"""What the layers before the routes read of a request."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

from litestar.types import Scope

COOKIE = "__Host-fencepost"
FORM = "application/x-www-form-urlencoded"
FORM_FIELDS_MAX = 1_000
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
WEBLESS = "unknown"


def header(scope: Scope, name: bytes) -> str | None:
    """A header that came exactly once; None where it did not come, or came twice."""
    values = headers(scope, name)
    return values[0] if len(values) == 1 else None


def headers(scope: Scope, name: bytes) -> list[str]:
    """Every value of a header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def is_own(scope: Scope, address: str | None) -> bool:
    """Whether the address is one of the host that was asked; the scheme may be that of a proxy."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return False
    host = header(scope, b"host")
    return host is not None and parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def session_cookie(scope: Scope) -> str | None:
    """The credential in our cookie; None where it did not come, or came twice."""
    return cookie_value(scope, COOKIE)


def cookie_value(scope: Scope, named: str) -> str | None:
    """The value of a cookie; None where it did not come, or came twice."""
    pairs = (pair.partition("=") for line in headers(scope, b"cookie") for pair in line.split(";"))
    values = [value.strip() for name, _, value in pairs if name.strip() == named]
    return values[0] if len(values) == 1 else None


def bearer(scope: Scope) -> str:
    """The token that a request shows; empty where it shows none, or several."""
    scheme, _, shown = (header(scope, b"authorization") or "").partition(" ")
    return shown.strip() if scheme.lower() == "bearer" else ""


def client_of(scope: Scope) -> str:
    """The address of the caller."""
    client = scope.get("client")
    return client[0] if client else WEBLESS


def wants_page(scope: Any) -> bool:
    """Whether a person with a browser asks for a page, or sends a form of one."""
    asks = scope["method"] in ("GET", "HEAD", "POST") and "text/html" in (header(scope, b"accept") or "")
    return asks and not scope["path"].startswith("/api/")


def read_form(scope: Scope, body: bytes) -> dict[str, str]:
    """The fields of a form; a field that came twice is left out, and a body that is no form has none."""
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != FORM:
        return {}
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX)
    except ValueError:
        return {}
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}
