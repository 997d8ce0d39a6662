"""A gate is read often, and the spec behind it rarely."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fencepost.model import codec
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_from_json, schedule_to_text
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import DEFAULT_NAMESPACE, ScheduleId
from fencepost.model.schedule import ScheduleSpec
from fencepost.testing.conformance.builders import make_spec

SPEC = make_spec(payload={"token": "canary"})


def closed(spec: str | None) -> ClosedGate:
    moment = StoreTime(datetime(2026, 3, 1, tzinfo=UTC))
    owner = DEFAULT_NAMESPACE, ScheduleId("hourly")
    return ClosedGate(*owner, moment, "many", 3, moment, moment, None, spec)


def test_a_spec_that_is_not_read_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []

    def noted(data: Any) -> ScheduleSpec:
        decoded.append(data)
        return schedule_from_json(data)

    monkeypatch.setattr(codec, "schedule_from_json", noted)
    gate = closed(schedule_to_text(SPEC))
    assert decoded == []
    assert "canary" not in repr(gate)
    assert gate.spec == SPEC
    assert len(decoded) == 1


@pytest.mark.parametrize("text", [None, '{"v": 99}'])
def test_a_gate_is_shown_whose_schedule_this_release_cannot_read(text: str | None) -> None:
    assert closed(text).spec is None
