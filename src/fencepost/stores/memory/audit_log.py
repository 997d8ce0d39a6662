"""The audit log in memory."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Action, Author, Entry, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.stores.memory.part import MemoryPart


class MemoryAuditLog(MemoryPart):
    """See `ports.audit_log`."""

    async def list(self, namespace: Namespace, wanted: LogFilter) -> Sequence[Entry]:
        mine = [entry for entry in reversed(self._tables.entries) if entry.namespace == namespace]
        return [entry for entry in mine if _matches(entry, wanted)][: wanted.limit]

    async def record(
        self, namespace: Namespace, author: Author, action: Action, subject: str, about: JsonObject
    ) -> None:
        self._tables.log(author, namespace, action, subject, {}, about)


def _matches(entry: Entry, wanted: LogFilter) -> bool:
    """Whether an entry is asked for; `since` is inclusive, `until` is not."""
    return (
        (wanted.subject is None or entry.subject == wanted.subject)
        and (wanted.action is None or entry.action is wanted.action)
        and (wanted.author in (None, entry.author.name, entry.author.credential))
        and (wanted.since is None or entry.at >= wanted.since)
        and (wanted.until is None or entry.at < wanted.until)
        and (wanted.before_number is None or entry.number < wanted.before_number)
    )
