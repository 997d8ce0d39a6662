"""The audit log. Actions write their entries themselves, each in its own transaction; an action that changed
nothing leaves no entry. This port reads entries, and records attempts that were refused. Entries are never
changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.audit import Action, Author, Entry, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject


class AuditLog(Protocol):
    """What people did."""

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        """Entries, newest first."""
        ...

    async def record(
        self, namespace: Namespace, author: Author, action: Action, subject: str, about: JsonObject
    ) -> None:
        """Write an entry about an attempt by an author that was refused; `about` is its `after`."""
        ...
