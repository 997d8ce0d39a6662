"""SQLAlchemy: the ledger in the database of an engine.

A Session or a Connection, sync or async, is handed over as it is: `app.enqueue(…, connection=session)`,
`app.enqueue_in(session, …)`, `run.complete_in(session)`. All that is left to say here is where the ledger is.
Nothing of SQLAlchemy is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.contrib.addresses import FOR_BOTH_DRIVERS
from fencepost.errors import InvalidSettings

PLACE = ("host", "port", "user", "password")
CACHE_PARAMETER = "statement_cache_size"
"""0 says to the ledger what it says to SQLAlchemy by a longer name: a pooler stands in between."""


def store_url(engine: Any) -> str:
    """The URL of a ledger in this database, for `Fencepost(store_url(engine))`; it holds the password.

    `engine` is an Engine, an AsyncEngine or a URL of SQLAlchemy's. Of the URL's query only the place, TLS and
    what says that a pooler stands in between are taken over.
    """
    url = getattr(engine, "url", engine)
    kind = url.get_backend_name()
    if kind not in ("postgresql", "sqlite"):
        raise InvalidSettings(
            f"store: SQLAlchemy's {kind} is not where a ledger lives; state the store's URL"
        )
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise InvalidSettings("store: a SQLite database in memory cannot hold the ledger; name a file")
    if kind == "sqlite":
        return f"sqlite:///{url.database}"
    query = _query({word: _last(word, value) for word, value in url.query.items()})
    shown: str = url.set(drivername="postgresql", query=query).render_as_string(hide_password=False)
    return shown


def _query(said: Mapping[str, str]) -> dict[str, str]:
    """Of what is for SQLAlchemy's driver, what the ledger's calls by the same name or by another."""
    kept = {word: said[word] for word in (*PLACE, *FOR_BOTH_DRIVERS) if word in said}
    if "ssl" in said:
        kept.setdefault("sslmode", said["ssl"])
    if said.get("prepared_statement_cache_size") == "0":
        kept[CACHE_PARAMETER] = "0"
    return kept


def _last(word: str, value: str | tuple[str, ...]) -> str:
    """SQLAlchemy names each of several hosts by a word of its own; elsewhere the last one counts."""
    if isinstance(value, str):
        return value
    return ",".join(value) if word in PLACE else value[-1]
