"""What this release cannot read it refuses in one line, whatever is wrong with it."""

import json
from typing import Any

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.codec import (
    job_from_text,
    job_to_json,
    job_to_text,
    schedule_from_text,
    schedule_to_json,
    schedule_to_text,
)
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.schedule import ScheduleSpec

SCHEDULE = ScheduleSpec(JobName("report"), {"v": 1, "kind": "moon"}, payload={"n": 1})
JOB = JobSpec(JobName("report"), parameters=(Parameter("n", True, "integer"),))

NO_SPECS = ["", "nonsense", "null", "[]", "7", '"text"', "{}", '{"v": 1}', '{"v": 2}']
ODD_SCHEDULES: list[dict[str, Any]] = [
    {"v": 2},
    {"v": None},
    {"overlap": "buffer_two"},
    {"overlap": "allow(0)"},
    {"overlap": []},
    {"catch_up": "all"},
    {"catch_up": {"mode": "all", "max_lateness_s": 1}},
    {"catch_up": {"mode": "none", "max_lateness_s": -1}},
    {"catch_up": {"mode": "none", "max_lateness_s": "5 parsecs"}},
    {"priority": 9},
    {"job": None},
]
ODD_JOBS: list[dict[str, Any]] = [
    {"v": 2},
    {"retry": "twice"},
    {"retry": {"max_attempts": 0, "base_s": 1, "cap_s": 2}},
    {"timeout_s": 1e300},
    {"timeout_s": "soon"},
    {"parameters": [{"name": "n", "required": True, "colour": "red"}]},
    {"name": 7},
]


def test_specs_survive_their_text() -> None:
    assert schedule_from_text(schedule_to_text(SCHEDULE)) == SCHEDULE
    assert job_from_text(job_to_text(JOB)) == JOB


@pytest.mark.parametrize(
    "text", [*NO_SPECS, *(json.dumps(schedule_to_json(SCHEDULE) | o) for o in ODD_SCHEDULES)]
)
def test_an_odd_schedule_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidSpec, match=r"\Aschedule spec cannot be read: .+\Z"):
        schedule_from_text(text)


@pytest.mark.parametrize("text", [*NO_SPECS, *(json.dumps(job_to_json(JOB) | o) for o in ODD_JOBS)])
def test_an_odd_job_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidSpec, match=r"\Ajob spec cannot be read: .+\Z"):
        job_from_text(text)
