"""Waiting for a run that was enqueued by hand, and its result.

A waiting caller marks the run (`Ledger.await_end`), and the transaction that ends it tells the listeners of
`ended`. A run without a waiter has no mark and costs nothing. The hint can be lost, and a locked run cannot
be marked. So the waiter also looks at every poll, and looks again soon at a run that it could not mark.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fencepost.core.lifecycle import ENDED
from fencepost.errors import ResultNotKept, RunFailed, WaitTimeout
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import RunRecord, RunState
from fencepost.model.tables import RUNS
from fencepost.ports.signals import Topic
from fencepost.ports.store import Store
from fencepost.services.lookups import known_run

UNMARKED_REST_S = 0.02
"""The rest after a run could not be marked; it doubles each time."""
NEGLECTED = (
    "no worker has begun it: start one that has its queue and its job (fencepost run TARGET), or wait longer"
)


async def wait_for_end(
    store: Store, namespace: Namespace, run_key: RunKey, timeout_s: float | None, poll_s: float
) -> RunRecord:
    """The run as it ended; `WaitTimeout` where that takes longer. No call of the store is cut short."""
    run = known_run(run_key, await store.ledger.get(namespace, run_key))
    if run.state in ENDED:
        return run
    loop, told, marked = asyncio.get_running_loop(), asyncio.Event(), False
    until = None if timeout_s is None else loop.time() + timeout_s
    unmarked_s = UNMARKED_REST_S
    stop = await store.signals.listen(Topic.ENDED, told.set)
    try:
        while True:
            told.clear()
            marked = marked or await store.ledger.await_end(namespace, run_key)
            run = known_run(run_key, await store.ledger.get(namespace, run_key))
            if run.state in ENDED:
                return run
            look_s = poll_s if marked else min(poll_s, unmarked_s)
            unmarked_s *= 2
            rest_s = look_s if until is None else min(look_s, until - loop.time())
            if rest_s <= 0:
                hint = (
                    NEGLECTED
                    if run.state is RunState.READY and run.first_started_at is None
                    else "wait longer"
                )
                raise WaitTimeout(f"run {run_key}: is {run.state} after {timeout_s:g}s, and goes on; {hint}")
            with suppress(TimeoutError):
                async with asyncio.timeout(rest_s):
                    await told.wait()
    finally:
        stop()


async def succeeded(store: Store, namespace: Namespace, run: RunRecord) -> str | None:
    """The output of a run that has ended, as it is kept; `RunFailed` where it did not succeed."""
    attempts = await store.ledger.attempts(namespace, run.run_key)
    last = next((one for one in reversed(attempts) if one.attempt == run.attempt), None)
    if run.state is not RunState.SUCCEEDED:
        said = " · ".join(dict.fromkeys(one for one in (run.reason, run.error) if one)) or "without a reason"
        detail = last.detail if last is not None else None
        raise RunFailed(f"run {run.run_key}: {run.state}: {said}", run.state, run.error, detail)
    if last is None and await _is_stripped(store, namespace, run.run_key):
        raise ResultNotKept(
            f"run {run.run_key}: succeeded; its result is not kept any more (the setting retention_s)"
        )
    return last.output if last is not None else None


async def _is_stripped(store: Store, namespace: Namespace, run_key: RunKey) -> bool:
    """Whether retention has left only the key."""
    rows = await store.rows.read(lambda tx: tx.find(RUNS.at(namespace, run_key)))
    return bool(rows and rows[0]["stripped"])
