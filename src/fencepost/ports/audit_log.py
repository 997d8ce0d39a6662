"""The audit log. Entries are written by the actions themselves, each in its own transaction; here they are
read. An action that changed nothing leaves no entry. Entries are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.audit import Entry, LogFilter
from fencepost.model.identifiers import Namespace


class AuditLog(Protocol):
    """What people did."""

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        """Entries, newest first."""
        ...
