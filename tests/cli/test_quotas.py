"""A command beyond the quota of its namespace is one line."""

import pytest

from tests.cli.calls import called, refused


def test_one_schedule_too_many_is_one_line(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_QUOTA_SCHEDULES", "1")
    line = refused("schedules", "add", "extra", "--job", "report", "--every", "1h", "--store", used)
    assert line.startswith("namespace default: has 1 schedules, and its quota is 1; remove some, or have")


def test_a_command_on_the_store_makes_runs_beyond_the_quota_of_requests(
    used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_QUOTA_ENQUEUES_PER_S", "0.001")
    for _ in range(2):
        called("schedules", "trigger", "report", "--store", used)
