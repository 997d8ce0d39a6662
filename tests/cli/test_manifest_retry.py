"""`retry = { … }` of a job in `fencepost.toml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.errors import UsageError
from fencepost.manifest import load
from fencepost.model.identifiers import JobName
from fencepost.model.job import Retry


def retry(folder: Path, inner: str) -> Retry:
    path = folder / "fencepost.toml"
    path.write_text(f'[jobs.backup]\ncommand = ["true"]\nretry = {{ {inner} }}\n', "utf-8")
    return load(path, {}).jobs[JobName("backup")].spec.retry


@pytest.mark.parametrize(
    ("inner", "meant"),
    [
        ("", Retry()),
        ('deadline = "1h"', Retry(deadline="1h")),
        ("deadline = 90, max_attempts = 2", Retry(2, deadline="90s")),
        ("budget = 0.5", Retry(budget=0.5)),
        ("budget = 0", Retry(budget=0)),
        ('budget = "none"', Retry(budget=None)),
        ('backoff = "linear"', Retry(backoff="linear")),
        ("max_doublings = 3", Retry(max_doublings=3)),
    ],
)
def test_a_policy_is_read(inner: str, meant: Retry, tmp_path: Path) -> None:
    assert retry(tmp_path, inner) == meant


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ('deadline = "late"', '[jobs.backup.retry] deadline: duration "late": expected'),
        ("deadline = 0", "[jobs.backup] retry: retry: a deadline must be longer than nothing"),
        ('backoff = "steep"', '[jobs.backup] retry: retry: backoff "steep": expected exponential, linear'),
        ('max_doublings = "3"', "[jobs.backup.retry] max_doublings"),
        ("dedline = 5", "[jobs.backup.retry] dedline is unknown; did you mean deadline?"),
        ("budget = 5", '[jobs.backup.retry] budget = 5: expected a share from 0 to 1, or "none"'),
        ("budget = nan", "[jobs.backup.retry] budget = nan: expected a share"),
        ("budget = false", "[jobs.backup.retry] budget = False: expected a share"),
        ('budget = "much"', '[jobs.backup.retry] budget = "much": expected a share'),
        ("budget = [0.2]", "[jobs.backup.retry] budget = [0.2]: expected a share"),
    ],
)
def test_a_mistake_is_one_line(inner: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        retry(tmp_path, inner)
    line = str(caught.value).removeprefix(f"{tmp_path / 'fencepost.toml'}: ")
    assert line.startswith(said)
    assert "\n" not in line
