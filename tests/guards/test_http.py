"""The headers of a run are those that the jobs by HTTP send."""

from __future__ import annotations

from fencepost.executors.http.headers import about, user_agent
from fencepost.guards import headers
from tests.executors.runs import make_run


def test_they_are_one_definition() -> None:
    run = make_run()
    assert about(run) == {"User-Agent": user_agent(), **headers(run)}


def test_a_receiver_can_tell_a_repeat_and_a_straggler() -> None:
    run = make_run()
    said = headers(run)
    assert (said["Idempotency-Key"], said["Fencepost-Fence"]) == (run.key, str(run.fence))
    assert said["Fencepost-Attempt"] == str(run.attempt)
    assert said["Fencepost-Fire-Time"].endswith("Z")
