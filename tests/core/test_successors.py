"""Which ends are followed: the table of the guide, worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fencepost.core.successors import check_no_cycle, counts, follows
from fencepost.errors import InvalidSpec
from fencepost.model.identifiers import JobName
from fencepost.model.job import AfterOn
from fencepost.model.run import RunState

LOAD = JobName("load")
LAYERS = 40


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


@pytest.mark.timeout(10)
def test_many_ways_through_the_jobs_are_not_all_walked() -> None:
    """Two jobs in each layer, each after both of the layer before: 2 to the power of the layers."""
    layers = [[JobName(f"{layer}-{one}") for one in "ab"] for layer in range(LAYERS)]
    after = {one: before for before, layer in pairwise(layers) for one in layer}
    check_no_cycle(JobName("39-a"), after)
    with pytest.raises(InvalidSpec, match=r"0-a -> 1-[ab] -> "):
        check_no_cycle(JobName("39-a"), after | {JobName("0-a"): [JobName("39-a")]})


def test_a_long_chain_is_not_more_than_python_can_walk() -> None:
    names = [JobName(str(number)) for number in range(5_000)]
    after = {one: [before] for before, one in pairwise(names)}
    check_no_cycle(names[-1], after)
    with pytest.raises(InvalidSpec, match=r"after: 4999 -> 0 -> 1 -> .* -> 4999 is a cycle"):
        check_no_cycle(names[-1], after | {names[0]: [names[-1]]})
