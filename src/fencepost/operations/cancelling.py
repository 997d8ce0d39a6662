"""Many runs cancelled at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.identifiers import RunKey
from fencepost.model.run import Ordered, RunState
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, operation
from fencepost.operations.responses.cancelling import CancelledRun, CancelResponse, Fate
from fencepost.operations.runs import CANCELLED, KEYS_MAX, batches
from fencepost.operations.words import RunKeyText
from fencepost.services.lookups import unknown_run
from fencepost.telemetry import traces

FATES = {RunState.CANCELLED: Fate.CANCELLED, RunState.RUNNING: Fate.ASKED_TO_STOP}


class CancelRunsRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which runs to cancel."""

    run_keys: Annotated[list[RunKeyText], Meta(min_length=1, max_length=KEYS_MAX)]


@operation(
    "runs.cancel_many",
    "POST /runs/cancel",
    Role.OPERATOR,
    example={"run_keys": ["invoices#2026-03-01T00:00:00Z#3"], "reason": "wrong month"},
)
async def cancel_runs(control: Control, request: CancelRunsRequest) -> CancelResponse:
    """Cancel many runs, and say of each what became of it.

    One that waits ends at once, one that runs is asked to stop, one that has ended stays as it is."""
    items = {one: _unknown(one) for one in request.run_keys}
    async for batch in cancel_many(control, request.run_keys):
        items |= {run_key: _ordered(one) for run_key, one in batch.items()}
    return CancelResponse(items=list(items.values()))


def _ordered(one: Ordered) -> CancelledRun:
    state = one.run.state
    fate = FATES.get(state, Fate.HAD_ENDED) if one.refused is None else Fate.REFUSED
    return CancelledRun(run_key=one.run.run_key, fate=fate, state=str(state), why=one.refused)


def _unknown(run_key: str) -> CancelledRun:
    return CancelledRun(run_key=run_key, fate=Fate.UNKNOWN, state=None, why=str(unknown_run(run_key)))


async def cancel_many(control: Control, run_keys: Sequence[str]) -> AsyncIterator[Mapping[RunKey, Ordered]]:
    """The same for many, a batch at a time: what became of those that are there."""
    why = control.because(CANCELLED)
    for batch in batches(run_keys):
        found = await control.store.ledger.cancel_many(control.namespace, batch, why, author=control.author)
        for run, refused in found.values():
            if refused is None:
                traces.cancelled(run)
        yield found
