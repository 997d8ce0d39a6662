"""Kept answers in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from fencepost.model.answers import Answered, Beginning, Begun, InFlight, Mismatch
from fencepost.model.clocks import later
from fencepost.model.identifiers import Namespace
from fencepost.stores.memory.access_tables import AnswerRow
from fencepost.stores.memory.part import MemoryPart


class MemoryAnswers(MemoryPart):
    """See `ports.answers`."""

    async def begin(
        self, namespace: Namespace, principal_id: str, key: str, fingerprint: str, hold_s: float
    ) -> Beginning:
        now, rows = self._tables.now(), self._tables.answers
        row = rows.setdefault((namespace, principal_id, key), AnswerRow(fingerprint, now, now))
        if row.fingerprint != fingerprint:
            return Mismatch()
        if row.answer is not None:
            return row.answer
        if now < row.held_until:
            return InFlight()
        again = row.held_until > row.asked_at
        row.held_until = later(now, hold_s)
        return Begun(row.asked_at, again)

    async def keep(
        self,
        namespace: Namespace,
        principal_id: str,
        key: str,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
    ) -> None:
        row = self._tables.answers.get((namespace, principal_id, key))
        if row is not None and row.answer is None:
            row.answer = Answered(status, body, dict(headers))

    async def drop(self, namespace: Namespace, principal_id: str, key: str) -> None:
        row = self._tables.answers.get((namespace, principal_id, key))
        if row is not None and row.answer is None:
            row.held_until = self._tables.now()

    async def sweep(self, kept_s: float, limit: int) -> int:
        border = self._tables.now() - timedelta(seconds=kept_s)
        old = [key for key, row in self._tables.answers.items() if row.asked_at <= border][:limit]
        for key in old:
            del self._tables.answers[key]
        return len(old)
