"""Payloads are refused in one line by those who do not have the job's code."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.core.payload import PAYLOAD_BYTES_MAX, check_payload
from fencepost.errors import InvalidPayload
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Parameter

JOB = JobSpec(
    JobName("report"),
    parameters=(
        Parameter("month", required=True, kind="integer"),
        Parameter("rate", required=False, kind="number"),
        Parameter("title", required=False, kind="string"),
        Parameter("urgent", required=False, kind="boolean"),
        Parameter("rows", required=False, kind="array"),
        Parameter("options", required=False, kind="object"),
        Parameter("when", required=False),
    ),
)
OPEN = JobSpec(JobName("open"), open_payload=True)


@pytest.mark.parametrize(
    "payload",
    [
        {"month": 3},
        {"month": 3, "rate": 1, "title": "x", "urgent": True, "rows": [], "options": {}, "when": None},
        {"month": 3, "rate": 1.5, "when": "2026-01-01"},
    ],
)
def test_what_the_signature_takes_is_not_refused(payload: dict[str, Any]) -> None:
    check_payload(JOB, payload)


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        ({}, "'month' is missing; it takes month, rate, title, urgent, rows, options, when"),
        ({"mont": 3}, "unknown name 'mont'; it takes month"),
        ({"month": "3"}, "month = '3': expected integer"),
        ({"month": 3.5}, "month = 3.5: expected integer"),
        ({"month": True}, "month = True: expected integer"),
        ({"month": None}, "month = None: expected integer"),
        ({"month": 3, "rate": "1"}, "rate = '1': expected number"),
        ({"month": 3, "rate": False}, "rate = False: expected number"),
        ({"month": 3, "title": 1}, "title = 1: expected string"),
        ({"month": 3, "urgent": 1}, "urgent = 1: expected boolean"),
        ({"month": 3, "rows": {}}, "rows = {}: expected array"),
        ({"month": 3, "options": []}, "options = []: expected object"),
        ({"month": 3, "when": {1, 2}}, "not JSON"),
        ({"month": 3, "when": float("nan")}, "not JSON"),
        ({"month": 3, "title": "x" * PAYLOAD_BYTES_MAX}, f"bytes, at most {PAYLOAD_BYTES_MAX}"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused(payload: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidPayload) as caught:
        check_payload(JOB, payload)
    assert str(caught.value).startswith("payload of job report: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_open_signature_takes_any_name_but_not_any_size() -> None:
    check_payload(OPEN, {"anything": [1, {"goes": None}]})
    with pytest.raises(InvalidPayload, match="bytes, at most"):
        check_payload(OPEN, {"anything": "x" * PAYLOAD_BYTES_MAX})


def test_a_job_without_arguments_takes_nothing() -> None:
    with pytest.raises(InvalidPayload, match="it takes nothing"):
        check_payload(JobSpec(JobName("bare")), {"x": 1})


def test_a_secret_that_may_be_left_out_may_be_null() -> None:
    job = JobSpec(
        JobName("pay"),
        parameters=(Parameter("token", required=True, kind="secret or null"),),
        secrets=("stripe",),
    )
    check_payload(job, {"token": None})
    check_payload(job, {"token": "secret:stripe"})
    with pytest.raises(InvalidPayload, match="registered: stripe"):
        check_payload(job, {"token": "secret:other"})
