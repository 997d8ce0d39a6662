"""What a `fencepost.toml` says of renamed jobs, retries that outlast a period, and schedules that left it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fencepost.app import Fencepost
from fencepost.errors import UsageError
from fencepost.manifest import load
from fencepost.model.identifiers import ScheduleId

TEXT = """
[jobs.backup]
command = ["true"]
retry = {{ max_attempts = 5, base = "1h", cap = "1h" }}
{job}

[schedules.nightly]
job = "backup"
every = "1h"
{schedule}
"""


def loaded(folder: Path, job: str = "", schedule: str = "") -> Fencepost:
    path = folder / "fencepost.toml"
    path.write_text(TEXT.format(job=job, schedule=schedule), "utf-8")
    return load(path, {})


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ('renamed_from = "old"', "renamed_from", ("old",)),
        ('renamed_from = ["older", "old"]', "renamed_from", ("older", "old")),
        ('retry_window = "warn"', "retry_window", "warn"),
        ("", "retry_window", "warn"),
    ],
)
def test_what_a_file_says_of_a_job_is_not_lost(line: str, name: str, value: Any, tmp_path: Path) -> None:
    app = loaded(tmp_path, line)
    assert getattr(app.specs()["backup"], name) == value
    assert ("old" in app.jobs_by_every_name) == ("old" in line)


def test_a_file_caps_retries_at_the_period_of_the_schedule(tmp_path: Path) -> None:
    assert str(loaded(tmp_path, 'retry_window = "cap"').specs()["backup"].retry.deadline) == "1:00:00"
    assert loaded(tmp_path, 'retry_window = "warn"').specs()["backup"].retry.deadline is None


@pytest.mark.parametrize("word", ["keep", "pause", "remove"])
def test_a_file_says_what_becomes_of_a_schedule_that_leaves_it(word: str, tmp_path: Path) -> None:
    assert (
        loaded(tmp_path, schedule=f'absent = "{word}"').code_schedules[ScheduleId("nightly")].absent == word
    )


@pytest.mark.parametrize(
    ("job", "schedule", "said"),
    [
        ("renamed_from = 7", "", "[jobs.backup] renamed_from = 7: expected a name, or a list of names"),
        ('renamed_from = "a b"', "", "[jobs.backup] renamed_from: "),
        ('renamed_from = "backup"', "", "[jobs.backup]"),
        (
            'retry_window = "stop"',
            "",
            '[jobs.backup] retry_window: retry_window "stop": expected one of warn',
        ),
        ('retry_window = "refuse"', "", "[schedules.nightly]"),
        ("", 'absent = "drop"', "[schedules.nightly] absent"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(job: str, schedule: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        loaded(tmp_path, job, schedule)
    line = str(caught.value).removeprefix(f"{tmp_path / 'fencepost.toml'}: ")
    assert line.startswith(said)
    assert "\n" not in line
