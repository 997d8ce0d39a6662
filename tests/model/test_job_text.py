"""The stored text of a job: what an earlier release wrote is read, and what it could say keeps its form."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry

BEFORE = (
    '{"at_most_once":false,"name":"report","open_payload":false,"parameters":[],"priority":2,'
    '"queue":"default","retry":{"base_s":5.0,"cap_s":300.0,"max_attempts":5},"timeout_s":60.0,"v":1}'
)
RICH = Retry(
    3,
    "1s",
    "1m",
    deadline="1h",
    only=(ConnectionError, "shop.Busy"),
    never=ConnectionRefusedError,
    budget=0.5,
)
RICH_RETRY = (
    '{"base_s":1.0,"budget":0.5,"cap_s":60.0,"deadline_s":3600.0,"max_attempts":3,'
    '"never":["ConnectionRefusedError"],"only":["ConnectionError","shop.Busy"]}'
)


def spec(retry: Retry) -> JobSpec:
    return JobSpec(JobName("report"), retry=retry, timeout=timedelta(minutes=1))


def with_retry(retry: str) -> str:
    return BEFORE.replace('{"base_s":5.0,"cap_s":300.0,"max_attempts":5}', retry)


def test_a_job_that_says_nothing_new_keeps_its_text() -> None:
    assert job_to_text(spec(Retry())) == BEFORE
    assert job_to_text(spec(Retry(5, 5, 300, deadline=None, only=(), never=[], budget=0.2))) == BEFORE


def test_a_text_from_before_is_read() -> None:
    assert job_from_text(BEFORE) == spec(Retry())


@pytest.mark.parametrize(
    ("retry", "text"),
    [
        (RICH, RICH_RETRY),
        (Retry(budget=None), '{"base_s":5.0,"budget":null,"cap_s":300.0,"max_attempts":5}'),
        (Retry(budget=0), '{"base_s":5.0,"budget":0.0,"cap_s":300.0,"max_attempts":5}'),
        (Retry(deadline="10m"), '{"base_s":5.0,"cap_s":300.0,"deadline_s":600.0,"max_attempts":5}'),
        (Retry(never="Busy"), '{"base_s":5.0,"cap_s":300.0,"max_attempts":5,"never":["Busy"]}'),
    ],
)
def test_what_a_job_says_of_its_retries_is_written_and_read(retry: Retry, text: str) -> None:
    assert job_to_text(spec(retry)) == with_retry(text)
    assert job_from_text(with_retry(text)) == spec(retry)


def test_names_that_resolve_to_nothing_are_still_read() -> None:
    job = job_from_text(with_retry('{"base_s":5,"cap_s":300,"max_attempts":5,"only":["gone.away.Error"]}'))
    assert job.retry.only == ("gone.away.Error",)


@pytest.mark.parametrize(
    "odd",
    [
        {"deadline_s": "soon"},
        {"deadline_s": 0},
        {"only": 7},
        {"only": [7]},
        {"only": ["os.system('true')"]},
        {"budget": 2},
        {"budget": "much"},
    ],
)
def test_an_odd_policy_is_refused_in_one_line(odd: dict[str, Any]) -> None:
    stored = json.loads(BEFORE)
    stored["retry"] |= odd
    with pytest.raises(InvalidSpec, match=r"\Ajob spec cannot be read: .+\Z"):
        job_from_text(json.dumps(stored))
