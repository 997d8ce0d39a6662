"""The URL of a store: what is ours in it, and how it is shown to people."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from fencepost.errors import InvalidSettings
from fencepost.model.address import UNREADABLE, mask
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

SCHEMES = frozenset({"postgresql", "postgres"})
EXPECTED = "expected postgresql://user:password@host:port/database"
STATEMENT_CACHE_SIZE = 256
CACHE_PARAMETER = "statement_cache_size"


@dataclass(frozen=True)
class Address:
    """Where the store is. `dsn` is for the driver and holds the password; `shown` is for people.

    A `statement_cache_size` of 0 in the URL says that a pooler stands in between, which shares one
    session among many clients: then nothing may be prepared and no session setting can be relied on.
    """

    dsn: str
    shown: str
    database: str
    statement_cache_size: int

    @property
    def pooled(self) -> bool:
        """Whether a session may be shared with other clients."""
        return self.statement_cache_size == 0


def parse_address(url: str) -> Address:
    """The address behind a URL, or a refusal that does not show the password."""
    try:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        _ = parts.port if "," not in parts.netloc else None
    except ValueError:
        raise InvalidSettings(f"store {quoted(mask(url))}: {UNREADABLE}; {EXPECTED}") from None
    if parts.scheme not in SCHEMES or not (parts.netloc or "host" in query):
        raise InvalidSettings(f"store {quoted(mask(url))}: {EXPECTED}")
    cache_size = _cache_size(query.pop(CACHE_PARAMETER, None), url)
    dsn = urlunsplit(parts._replace(query=urlencode(query)))
    return Address(dsn, mask(url), unquote(parts.path.lstrip("/")), cache_size)


def _cache_size(text: str | None, url: str) -> int:
    if text is None:
        return STATEMENT_CACHE_SIZE
    if not text.isdecimal():
        raise InvalidSettings(
            f"store {quoted(mask(url))}: {CACHE_PARAMETER} {quoted(text)} is not a whole number; "
            "use 0 behind a pooler, or leave it out"
        )
    return int(text)
