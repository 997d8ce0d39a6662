"""What counts as seen: versions, late news, and writes of which nobody knows the outcome."""

import pytest

from fencepost.leases.kubernetes.lease import Lease, lease_in
from fencepost.leases.kubernetes.observations import Observations
from fencepost.model.clocks import Monotonic
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import ALICE, BOB

NAME = "fleet-shard-0"
TERM_S = 10


@pytest.fixture
def observations(clock: VirtualClock) -> Observations:
    return Observations(clock)


def test_seeing_the_same_version_again_does_not_begin_a_term(
    observations: Observations, clock: VirtualClock
) -> None:
    observations.read(lease("1"), clock.monotonic())
    clock.advance(4)
    observations.read(lease("1"), clock.monotonic())
    assert left_s(observations, clock) == TERM_S - 4


def test_another_version_does_not_end_with_the_one_before(
    observations: Observations, clock: VirtualClock
) -> None:
    observations.read(lease("1"), clock.monotonic())
    clock.advance(4)
    observations.read(lease("2"), clock.monotonic())
    assert left_s(observations, clock) == TERM_S


def test_the_same_version_of_another_object_is_not_the_same(
    observations: Observations, clock: VirtualClock
) -> None:
    observations.read(lease("1"), clock.monotonic())
    clock.advance(4)
    observations.read(lease("1", uid="another"), clock.monotonic())
    assert left_s(observations, clock) == TERM_S


def test_late_news_is_not_believed(observations: Observations, clock: VirtualClock) -> None:
    observations.read(lease("10"), clock.monotonic())
    clock.advance(4)
    observations.read(lease("9"), clock.monotonic())
    assert left_s(observations, clock) == TERM_S - 4
    observations.wrote(lease("8"), clock.monotonic())
    assert left_s(observations, clock) == TERM_S - 4


def test_versions_that_are_no_numbers_are_not_put_in_order(
    observations: Observations, clock: VirtualClock
) -> None:
    observations.read(lease("b"), clock.monotonic())
    clock.advance(4)
    observations.read(lease("a"), clock.monotonic())
    assert left_s(observations, clock) == TERM_S


def test_a_list_that_was_sent_before_does_not_unsee_what_was_written_since(
    observations: Observations, clock: VirtualClock
) -> None:
    sent_at = clock.monotonic()
    clock.advance(1)
    observations.wrote(lease("1"), clock.monotonic())
    observations.listed([], sent_at)
    assert observations.get(NAME) is not None
    observations.listed([], clock.monotonic())
    assert observations.get(NAME) is None


def test_of_two_unanswered_writes_the_second_does_not_count(
    observations: Observations, clock: VirtualClock
) -> None:
    observations.read(lease("1"), clock.monotonic())
    observations.writing(NAME)
    clock.advance(3)
    observations.writing(NAME)
    clock.advance(3)
    observations.read(lease("2"), clock.monotonic())
    assert left_s(observations, clock, own=True) == TERM_S - 6
    assert left_s(observations, clock) == TERM_S


def test_a_write_with_an_answer_does_not_count_from_one_without(
    observations: Observations, clock: VirtualClock
) -> None:
    observations.read(lease("1"), clock.monotonic())
    observations.writing(NAME)
    clock.advance(3)
    sent_at = observations.writing(NAME)
    observations.read(lease("2"), clock.monotonic())
    observations.wrote(lease("2"), sent_at)
    assert left_s(observations, clock, own=True) == TERM_S


def test_a_doubtful_release_is_not_in_doubt_for_ever(observations: Observations, clock: VirtualClock) -> None:
    observations.read(lease("1"), clock.monotonic())
    observations.writing(NAME, frees=True)
    assert observations.may_be_freed(NAME)
    observations.read(lease("1"), clock.monotonic())
    assert observations.may_be_freed(NAME)
    observations.read(lease("2"), clock.monotonic())
    assert not observations.may_be_freed(NAME)


def lease(version: str, uid: str = "one") -> Lease:
    spec = {"holderIdentity": ALICE, "leaseDurationSeconds": TERM_S, "leaseTransitions": 0}
    return lease_in({"metadata": {"name": NAME, "uid": uid, "resourceVersion": version}, "spec": spec})


def left_s(observations: Observations, clock: VirtualClock, *, own: bool = False) -> float:
    """What is left of the term, to its holder or to a rival."""
    seen = observations.get(NAME)
    assert seen is not None
    return seen.left_s(ALICE if own else BOB, Monotonic(clock.monotonic()))
