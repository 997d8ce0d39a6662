"""`[notify.NAME]`: who is told when something is wrong."""

from __future__ import annotations

from typing import Any

from fencepost.app import Fencepost
from fencepost.manifest.table import Table

LISTS = ("events", "jobs", "schedules", "to")
TEXTS = ("url", "secret")


def add_notify(app: Fencepost, name: str, table: Table) -> None:
    """A target of this file."""
    table.only("kind", *LISTS, *TEXTS, "allow_private")
    if "kind" not in table:
        table.refuse("kind", 'is missing; write kind = "webhook", "slack" or "email"')
    words: dict[str, Any] = {key: table.texts(key) for key in LISTS if key in table}
    words |= {key: table.text(key) for key in TEXTS if key in table}
    kind: Any = table.text("kind")
    with table.blaming():
        app.add_notify(name, kind, allow_private=table.flag("allow_private"), **words)
