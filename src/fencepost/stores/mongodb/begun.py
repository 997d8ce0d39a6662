"""The runs that were begun last, remembered from their claim to their report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.model.run import RunState
from fencepost.model.table import Key
from fencepost.stores.mongodb.documents import Document

KEPT_MAX, PAYLOAD_MAX = 1_000, 4_096
"""How many are remembered, and how long their payloads are at most."""


class BegunRuns:
    """As they were written. One that was changed since has another revision: what is written over it is
    lost."""

    def __init__(self) -> None:
        self._documents: dict[Key, Document] = {}

    def keep(self, written: Mapping[Key, Document | None]) -> None:
        """Those that run now, of what was written."""
        for key, document in written.items():
            self._documents.pop(key, None)
            if document is not None and _is_kept(document):
                self._documents[key] = document
        for key in list(self._documents)[:-KEPT_MAX]:
            del self._documents[key]

    def take(self, keys: Iterable[Key]) -> list[tuple[Key, Document]]:
        found = ((key, self._documents.pop(key, None)) for key in keys)
        return [(key, document) for key, document in found if document is not None]


def _is_kept(run: Document) -> bool:
    return run["state"] == RunState.RUNNING and len(run["payload"] or "") <= PAYLOAD_MAX
