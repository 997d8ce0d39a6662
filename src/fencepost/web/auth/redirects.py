"""Where to go after signing in: within this server, and nowhere else."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from litestar.types import HTTPScope

from fencepost.web.auth.reading import header, is_own

SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
OIDC = f"{SIGN_IN}/oidc"
OIDC_BACK = f"{OIDC}/callback"
WAYS = frozenset({SIGN_IN, SIGN_OUT, OIDC, OIDC_BACK})
HOME = "/"
LENGTH_MAX = 2_000


def local_path(text: str | None) -> str:
    """The text, where it is a path on this server; the home page otherwise.

    Browsers read `//host`, `/\\host` and `/<tab>/host` as the address of another server.
    """
    if text is None or not text.startswith("/") or text.startswith("//") or len(text) > LENGTH_MAX:
        return HOME
    if "\\" in text or not text.isascii() or not all(" " < character < "\x7f" for character in text):
        return HOME
    try:
        parts = urlsplit(text)
    except ValueError:
        return HOME
    if parts.scheme or parts.netloc or parts.path in WAYS:
        return HOME
    return text


def sign_in_url(scope: HTTPScope) -> str:
    """The sign-in page, from which it goes on to what was asked for, or to the page whose form was sent."""
    there = sent_from(scope) if scope["method"] == "POST" else asked_path(scope)
    return SIGN_IN if there == HOME else f"{SIGN_IN}?next={quote(there, safe='')}"


def asked_path(scope: HTTPScope) -> str:
    """What was asked for, as a link that leads back here."""
    query = scope["query_string"].decode("ascii", "replace")
    return local_path(f"{scope['path']}?{query}" if query else scope["path"])


def sent_from(scope: HTTPScope) -> str:
    """The page of this server that a form was on: its browser says so."""
    referer = header(scope, b"referer")
    if referer is None or not is_own(scope, referer):
        return HOME
    page = urlsplit(referer)
    return local_path(f"{page.path}?{page.query}" if page.query else page.path)
