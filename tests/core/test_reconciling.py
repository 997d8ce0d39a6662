"""A key that another system has is judged by its run, and by its name where there is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fencepost.core.reconciling import KeyBounds, KeyVerdict, judged_key
from fencepost.model.identifiers import JobName, RunKey, ScheduleId

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BOUNDS = KeyBounds(NOON, NOON + timedelta(hours=1))
TICK = "invoices#2026-03-01T12:30:00Z#1"
INVOICES, SEND = ScheduleId("invoices"), JobName("send")


@pytest.mark.parametrize(
    ("key", "bounds", "verdict"),
    [
        (TICK, {}, KeyVerdict.WITHOUT_RUN),
        (TICK, {"schedule_id": INVOICES}, KeyVerdict.WITHOUT_RUN),
        (TICK, {"schedule_id": ScheduleId("reports")}, KeyVerdict.OUTSIDE),
        (TICK, {"jobs": (SEND,)}, KeyVerdict.WITHOUT_RUN),
        (TICK, {"forgotten_before": NOON + timedelta(minutes=31)}, KeyVerdict.FORGOTTEN),
        (TICK, {"forgotten_before": NOON + timedelta(minutes=30)}, KeyVerdict.WITHOUT_RUN),
        ("invoices#2026-03-01T12:00:00Z#1", {}, KeyVerdict.WITHOUT_RUN),
        ("invoices#2026-03-01T13:00:00Z#1", {}, KeyVerdict.WITHOUT_RUN),
        ("invoices#2026-03-01T11:59:59Z#1", {}, KeyVerdict.OUTSIDE),
        ("invoices#2026-03-01T13:00:01Z#1", {}, KeyVerdict.OUTSIDE),
        ("send#4711", {}, KeyVerdict.WITHOUT_RUN),
        ("send#4711", {"jobs": (SEND,)}, KeyVerdict.WITHOUT_RUN),
        ("mail#4711", {"jobs": (SEND, JobName("mail"))}, KeyVerdict.WITHOUT_RUN),
        ("mail#4711", {"jobs": (SEND,)}, KeyVerdict.OUTSIDE),
        ("send#4711", {"schedule_id": INVOICES}, KeyVerdict.OUTSIDE),
        ("send#after#invoices#2026-03-01T12:30:00Z#1", {"jobs": (SEND,)}, KeyVerdict.WITHOUT_RUN),
        ("invoices#yesterday#1", {}, KeyVerdict.WITHOUT_RUN),
        ("what is this", {}, KeyVerdict.WITHOUT_RUN),
    ],
)
def test_an_unknown_key_is_judged_by_what_it_names(
    key: str, bounds: dict[str, Any], verdict: KeyVerdict
) -> None:
    within = KeyBounds(BOUNDS.since, BOUNDS.until, **bounds)
    assert judged_key(RunKey(key), None, within).verdict is verdict
