"""Pages: a list is given in parts, and each says where the next begins.

A cursor is the place behind the last row of a page, not a number of rows: what is written or removed
meanwhile neither repeats a row nor loses one. It is nobody's business what is in it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from fencepost.errors import UsageError

LIMIT_DEFAULT = 50
LIMIT_MAX = 500
CURSOR_LENGTH_MAX = 2_000
NUMBER_MAX = 2**63 - 1

Limit: TypeAlias = Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="How many at most.")]
Cursor: TypeAlias = Annotated[
    str, Meta(max_length=CURSOR_LENGTH_MAX, description="`next` of the page before, as it was given.")
]
Next: TypeAlias = Annotated[
    str | None, Meta(description="The cursor of the next page; null where this is the last one.")
]

FORGED = "cursor: expected `next` of the page before, as it was given"

T = TypeVar("T")
P = TypeVar("P", bound=tuple[Any, ...])


def encode_cursor(*place: Any) -> str:
    """A place, as a text for a URL."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def decode_cursor(cursor: str, kind: type[P]) -> P:
    """The place, a tuple of that type; refused where it is not one that a page gave."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place: P = msgspec.json.decode(text, type=kind)
    except (ValueError, msgspec.MsgspecError):
        raise UsageError(FORGED) from None
    if any("\0" in one for one in place if isinstance(one, str)):
        raise UsageError(FORGED)
    return place


def cut(found: Sequence[T], limit: int) -> tuple[Sequence[T], T | None]:
    """Of `limit` + 1 rows or fewer: the page, and its last row where there is more behind it."""
    page = found[:limit]
    return page, page[-1] if len(found) > limit else None


def sliced(
    found: Iterable[T], place: Callable[[T], P], kind: type[P], limit: int, after: str | None
) -> tuple[Sequence[T], str | None]:
    """A page of what is read as a whole anyway, in the order of its places, and the next one's cursor."""
    ordered = sorted(found, key=place)
    if after is not None:
        behind = decode_cursor(after, kind)
        ordered = [one for one in ordered if place(one) > behind]
    page, last = cut(ordered, limit)
    return page, None if last is None else encode_cursor(*place(last))


def number_behind(cursor: str | None, most: int = NUMBER_MAX) -> int | None:
    """The place in a list that goes by number; None at its beginning."""
    if cursor is None:
        return None
    (number,) = decode_cursor(cursor, tuple[int])
    if not 0 <= number <= most:
        raise UsageError(FORGED)
    return number
