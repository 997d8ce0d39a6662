"""What is said once: the outcome of a form, carried over the redirect in a cookie that scripts cannot read.

It is text and nothing else. A link in it is one that this house made, and leads nowhere but into it.
"""

from __future__ import annotations

import base64

import msgspec
from litestar.datastructures import Cookie

from fencepost.model.dataclasses import dataclass
from fencepost.web.dashboard.links import is_local

NAME = "fencepost_said"
LASTS_S = 60
TEXT_LENGTH_MAX = 800
COOKIE_LENGTH_MAX = 3_500


class Said(msgspec.Struct, frozen=True):
    """One sentence, whether it was a refusal, and where to look next."""

    text: str
    refused: bool = False
    href: str | None = None
    link: str | None = None


@dataclass(frozen=True)
class Envelope:
    """The cookie, as the connection asks for it."""

    secure: bool

    def carry(self, said: Said) -> Cookie:
        """A cookie that says it."""
        short = msgspec.structs.replace(said, text=_short(said.text))
        text = base64.urlsafe_b64encode(msgspec.json.encode(short)).decode()
        if len(text) > COOKIE_LENGTH_MAX:
            text = base64.urlsafe_b64encode(msgspec.json.encode(Said(short.text, short.refused))).decode()
        return self._cookie(text, LASTS_S)

    def clear(self) -> Cookie:
        """The cookie that takes it away."""
        return self._cookie("", 0)

    def _cookie(self, value: str, lasts_s: int) -> Cookie:
        return Cookie(
            NAME, value=value, max_age=lasts_s, path="/", httponly=True, secure=self.secure, samesite="lax"
        )


def read_said(cookie: str | None) -> Said | None:
    """What a cookie says; None where it says nothing that we could have said."""
    if not cookie or len(cookie) > COOKIE_LENGTH_MAX:
        return None
    try:
        said = msgspec.json.decode(base64.urlsafe_b64decode(cookie), type=Said)
    except (ValueError, msgspec.MsgspecError):
        return None
    if said.href is not None and not is_local(said.href):
        return Said(said.text, said.refused)
    return said


def _short(text: str) -> str:
    return text if len(text) <= TEXT_LENGTH_MAX else f"{text[: TEXT_LENGTH_MAX - 1]}…"
