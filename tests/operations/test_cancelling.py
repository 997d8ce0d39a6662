"""Many runs cancelled at a time: each has its own fate."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import ValidationError

from fencepost.model.audit import Action, LogFilter
from fencepost.model.identifiers import Namespace, RunKey
from fencepost.model.run import Ordered, RunState
from fencepost.operations.cancelling import CancelRunsRequest, cancel_runs
from tests.operations.asking import asked, there_and_back
from tests.operations.dead_runs import burnt
from tests.services.house import NS, Bench, House, WorkingNode, make_job


async def test_each_run_has_its_own_fate() -> None:
    house = House()
    control = await burnt(house, "ended")
    bench = Bench()
    worker = WorkingNode(house, make_job(bench, "burn"))
    await house.enqueue("runs", "burn")
    await worker.worker.run_once()
    await house.enqueue("waits", "burn")
    keys = ["burn#ended", "burn#runs", "burn#waits", "burn#waits", "burn#nobody"]
    answer = await asked(control, cancel_runs, CancelRunsRequest(run_keys=keys))
    assert [(one.run_key, str(one.fate), one.state) for one in answer.items] == [
        ("burn#ended", "had_ended", "dead"),
        ("burn#runs", "asked_to_stop", "running"),
        ("burn#waits", "cancelled", "cancelled"),
        ("burn#nobody", "unknown", None),
    ]
    assert (await house.run("burn#waits")).state is RunState.CANCELLED
    assert (await house.run("burn#runs")).cancel_requested
    subjects = [
        one.subject for one in await house.memory.audit_log.list(NS, LogFilter(action=Action.RUN_CANCEL))
    ]
    assert sorted(subjects) == ["burn#runs", "burn#waits"]
    bench.finish.set()
    await worker.reported(0)


async def test_one_that_cannot_be_asked_keeps_nobody_else_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House()
    control = await burnt(house)
    for key in ("locked", "waits"):
        await house.enqueue(key, "burn")
    ledger, key = house.memory.ledger, RunKey("burn#locked")
    cancel_many = ledger.cancel_many

    async def locked(namespace: Namespace, run_keys: list[RunKey], *rest: Any, **more: Any) -> Any:
        left = Ordered(await house.run("burn#locked"), "run burn#locked: is in a transaction of its own")
        others = [one for one in run_keys if one != key]
        return {key: left, **await cancel_many(namespace, others, *rest, **more)}

    monkeypatch.setattr(ledger, "cancel_many", locked)
    answer = await asked(control, cancel_runs, CancelRunsRequest(run_keys=["burn#locked", "burn#waits"]))
    assert [str(one.fate) for one in answer.items] == ["refused", "cancelled"]
    assert [one.state for one in answer.items] == ["ready", "cancelled"]
    assert "transaction of its own" in (answer.items[0].why or "")


@pytest.mark.parametrize("keys", [[], ["x#y"] * 1_001])
def test_none_and_too_many_do_not_arrive(keys: list[str]) -> None:
    with pytest.raises(ValidationError):
        there_and_back(cancel_runs, CancelRunsRequest(run_keys=keys))
