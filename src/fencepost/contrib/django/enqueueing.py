"""Runs written in Django's own transactions.

There is no need for `transaction.on_commit`: what is written here is there when the block commits, and not
otherwise, and no crash between the commit and a hook can lose it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from fencepost.app import Fencepost
from fencepost.contrib.django.configuration import alias, application, ledger_file
from fencepost.errors import UnfitConnection
from fencepost.model.enqueueing import Expires, UniqueLike
from fencepost.model.identifiers import RunKey


def enqueue(
    job: str | Callable[..., Any],
    /,
    *,
    using: str | None = None,
    key: str | None = None,
    at: datetime | None = None,
    unique: UniqueLike = None,
    expires: Expires = None,
    **payload: Any,
) -> RunKey:
    """One run by hand, in the current atomic block, or in one of its own outside of any.

    `using` is the alias of the database, which has to be the one that the ledger is in. With a key, a second
    call of the same key changes nothing. `unique` and `expires` are as in `Fencepost.enqueue`.
    """
    app, chosen = application(), using or alias()
    connection = connections[chosen]
    check_is_ledgers(connection, app)
    with nullcontext() if connection.in_atomic_block else transaction.atomic(using=chosen):
        words: dict[str, Any] = {"key": key, "at": at, "unique": unique, "expires": expires}
        return app.enqueue_in(connection, job, **words, **payload)


async def aenqueue(job: str | Callable[..., Any], /, **words: Any) -> RunKey:
    """The same from an async view, in a transaction of its own: Django has no async blocks."""
    key: RunKey = await sync_to_async(enqueue, thread_sensitive=True)(job, **words)
    return key


def check_is_ledgers(connection: Any, app: Fencepost) -> None:
    """Refuse a database in which the ledger is not: its writes would be of another, or none."""
    file = ledger_file(app)
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        if file is None or Path(name).resolve() != file:
            raise UnfitConnection(
                f"database {connection.alias}: {name} is not the ledger's; say "
                'FENCEPOST["DATABASE"] or FENCEPOST["STORE"], so that both are one'
            )
    elif file is not None:
        raise UnfitConnection(
            f"database {connection.alias}: the ledger is in the file {file.name}, and not in this database; "
            'say FENCEPOST["STORE"]'
        )
