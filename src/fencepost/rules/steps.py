"""Recorded steps."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Ticket
from fencepost.model.tables import STEPS, STEPS_IN_ORDER
from fencepost.ports.rows import Transaction
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.runs import lock_owned


class StepRules(Part):
    """See `ports.steps`."""

    @reads
    async def recorded(self, tx: Transaction, namespace: Namespace, run_key: RunKey) -> Mapping[str, str]:
        return {row["name"]: row["result"] for row in await tx.find(STEPS_IN_ORDER(namespace, run_key))}

    @writes
    async def record(self, tx: Transaction, ticket: Ticket, name: str, result: str) -> str | None:
        if await lock_owned(tx, ticket) is None:
            return None
        step = {
            "namespace": ticket.namespace,
            "run_key": ticket.run_key,
            "name": name,
            "result": result,
            "attempt": ticket.attempt,
            "recorded_at": await tx.now(),
        }
        await tx.put_if_absent(STEPS, [step])
        (known,) = await tx.find(STEPS.at(ticket.namespace, ticket.run_key, name))
        return str(known["result"])
