"""Answers to calls that carry a key of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fencepost.model.clocks import later
from fencepost.model.idempotency import Beginning, Begun, InFlight, KeptResponse, Mismatch
from fencepost.model.identifiers import Namespace
from fencepost.model.table import Row
from fencepost.model.tables import ANSWERS, ANSWERS_BY_AGE
from fencepost.ports.rows import Transaction
from fencepost.rules.part import Part, writes


class IdempotencyRules(Part):
    """See `ports.idempotency`."""

    @writes
    async def begin(
        self,
        tx: Transaction,
        namespace: Namespace,
        principal_id: str,
        key: str,
        fingerprint: str,
        hold_s: float,
    ) -> Beginning:
        name = {"namespace": namespace, "principal_id": principal_id, "key": key}
        now = await tx.now()
        first = {**name, "fingerprint": fingerprint, "asked_at": now, "held_until": now}
        rows = await tx.put_if_absent(ANSWERS, [first]) or await tx.lock(ANSWERS.at(*name.values()))
        # The row that was there may have been swept away while this waited for it.
        (row,) = rows or await tx.put_if_absent(ANSWERS, [first])
        if row["fingerprint"] != fingerprint:
            return Mismatch()
        if row["status"] is not None:
            return KeptResponse(row["status"], bytes(row["body"]), json.loads(row["headers"]))
        now = await tx.now()
        if now < row["held_until"]:
            return InFlight()
        await tx.change(ANSWERS, [(row, {"held_until": later(now, hold_s)})])
        return Begun(row["asked_at"], again=row["held_until"] > row["asked_at"])

    @writes
    async def keep(
        self,
        tx: Transaction,
        namespace: Namespace,
        principal_id: str,
        key: str,
        status: int,
        body: bytes,
        headers: Mapping[str, str],
    ) -> None:
        answer = {"status": status, "body": body, "headers": json.dumps(dict(headers))}
        rows = await tx.lock(ANSWERS.at(namespace, principal_id, key))
        await tx.change(ANSWERS, [(row, answer) for row in rows if _is_open(row)])

    @writes
    async def drop(self, tx: Transaction, namespace: Namespace, principal_id: str, key: str) -> None:
        rows = await tx.lock(ANSWERS.at(namespace, principal_id, key))
        now = await tx.now()
        await tx.change(ANSWERS, [(row, {"held_until": now}) for row in rows if _is_open(row)])

    @writes
    async def sweep(self, tx: Transaction, kept_s: float, limit: int) -> int:
        border = later(await tx.now(), -kept_s)
        old = await tx.take(ANSWERS_BY_AGE().through(border), limit=limit)
        await tx.delete(ANSWERS, old)
        return len(old)


def _is_open(answer: Row) -> bool:
    return answer["status"] is None
