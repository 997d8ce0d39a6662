"""Whose code's schedule is in force while old and new replicas run side by side."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from fencepost.core.deployment import should_apply
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId, Shard
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState
from fencepost.triggers import Every

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
OLD_CODE, NEW_CODE = "digest-of-old", "digest-of-new"


def spec(seconds: int) -> ScheduleSpec:
    return ScheduleSpec(JobName("report"), Every(seconds).to_json())


OLD, NEW, EDITED = spec(60), spec(30), spec(45)


def stored(
    in_force: ScheduleSpec,
    code_spec: ScheduleSpec | None,
    code_digest: str | None,
    state: ScheduleState = ScheduleState.ACTIVE,
) -> Schedule:
    return Schedule(
        namespace=DEFAULT_NAMESPACE,
        schedule_id=ScheduleId("beat"),
        shard=Shard(0),
        version=2,
        state=state,
        spec=in_force,
        planned_through=NOW,
        updated_at=NOW,
        code_spec=code_spec,
        code_digest=code_digest,
    )


@dataclass(frozen=True)
class Case:
    """What a replica brings, what the store has, whose code is alive, and whether it is applied."""

    wanted: ScheduleSpec
    current: Schedule | None
    history: tuple[ScheduleSpec, ...]
    live: tuple[str, ...]
    applied: bool


REMOVED = ScheduleState.REMOVED
CASES = {
    "new schedule": Case(OLD, None, (), (OLD_CODE,), True),
    "unchanged": Case(OLD, stored(OLD, OLD, OLD_CODE), (OLD,), (OLD_CODE,), False),
    "new code beside the old": Case(NEW, stored(OLD, OLD, OLD_CODE), (OLD,), (OLD_CODE, NEW_CODE), True),
    "an old replica restarts in mid-deploy": Case(
        OLD, stored(NEW, NEW, NEW_CODE), (OLD, NEW), (OLD_CODE, NEW_CODE), False
    ),
    "rollback, the last new node has gone": Case(
        OLD, stored(NEW, NEW, NEW_CODE), (OLD, NEW), (OLD_CODE,), True
    ),
    "rollback, nobody is alive yet": Case(OLD, stored(NEW, NEW, NEW_CODE), (OLD, NEW), (), True),
    "an operator's edit stays when the same code restarts": Case(
        OLD, stored(EDITED, OLD, OLD_CODE), (OLD, EDITED), (OLD_CODE,), False
    ),
    "an operator's edit stays when the same code starts alone": Case(
        OLD, stored(EDITED, OLD, OLD_CODE), (OLD, EDITED), (), False
    ),
    "new code goes over an operator's edit": Case(
        NEW, stored(EDITED, OLD, OLD_CODE), (OLD, EDITED), (OLD_CODE,), True
    ),
    "made by hand, never by code": Case(NEW, stored(OLD, None, None), (OLD,), (NEW_CODE,), True),
    "made by hand just as the code has it": Case(OLD, stored(OLD, None, None), (OLD,), (OLD_CODE,), True),
    "removed by an operator stays removed": Case(
        OLD, stored(OLD, OLD, OLD_CODE, REMOVED), (OLD,), (OLD_CODE,), False
    ),
    "removed, and new code brings another spec": Case(
        NEW, stored(OLD, OLD, OLD_CODE, REMOVED), (OLD,), (NEW_CODE,), True
    ),
    "removed, never of code": Case(OLD, stored(OLD, None, None, REMOVED), (OLD,), (OLD_CODE,), True),
}


@pytest.mark.parametrize("name", CASES)
def test_applied(name: str) -> None:
    case = CASES[name]
    assert should_apply(case.wanted, case.current, case.history, case.live) is case.applied


def test_an_equal_spec_made_anew_counts_as_unchanged() -> None:
    assert should_apply(spec(60), stored(spec(60), spec(60), OLD_CODE), [spec(60)], []) is False
