"""Which ends are followed: the table of the guide, worked out by hand."""

from __future__ import annotations

import pytest

from fencepost.core.successors import counts, follows
from fencepost.model.identifiers import JobName
from fencepost.model.job import AfterOn
from fencepost.model.run import RunState

LOAD = JobName("load")


@pytest.mark.parametrize(
    ("state", "success", "failure", "any_end"),
    [
        (RunState.SUCCEEDED, True, False, True),
        (RunState.DEAD, False, True, True),
        (RunState.CANCELLED, False, False, True),
        (RunState.SKIPPED, False, False, True),
        (RunState.MISSED, False, False, True),
        (RunState.WITHDRAWN, False, False, False),
    ],
)
def test_an_end_is_not_followed_but_as_the_guide_says(
    state: RunState, success: bool, failure: bool, any_end: bool
) -> None:
    found = {on: counts(state) and follows(on, [LOAD], {LOAD: {state}}) for on in AfterOn}
    assert found == {AfterOn.SUCCESS: success, AfterOn.FAILURE: failure, AfterOn.ANY: any_end}
