"""What a node may believe about a lease, and that it never believes for longer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fencepost.core.election import (
    Candidate,
    Election,
    Follower,
    Leader,
    campaign,
    granted,
    held,
    overdue,
    renewed,
    stepped_down,
    trust_until,
    unanswered,
)
from fencepost.errors import InvalidSettings
from fencepost.model.clocks import Monotonic
from fencepost.model.identifiers import Epoch
from fencepost.model.lease import LeaseTerms
from tests.properties import examples

TERMS = LeaseTerms(ttl_s=10, renew_deadline_s=6, retry_period_s=3, margin_s=1)
T0, T5, T9 = Monotonic(0.0), Monotonic(5.0), Monotonic(9.0)
EPOCH = Epoch(4)
FOLLOWER, CANDIDATE, LEADER = Follower("held by bob"), Candidate(T0), Leader(EPOCH, T9)


def test_trust_is_counted_from_when_the_request_was_sent() -> None:
    assert granted(campaign(Follower(), T0), EPOCH, TERMS) == Leader(EPOCH, Monotonic(0 + 10 - 1))


def test_a_late_answer_does_not_prolong_the_trust() -> None:
    assert trust_until(T5, TERMS) == 5.0 + 10.0 - 1.0


@pytest.mark.parametrize(
    ("state", "after"),
    [(FOLLOWER, Candidate(T5)), (CANDIDATE, Candidate(T5)), (LEADER, LEADER)],
)
def test_a_leader_does_not_campaign_against_itself(state: Election, after: Election) -> None:
    assert campaign(state, T5) == after


@pytest.mark.parametrize("state", [FOLLOWER, LEADER])
def test_no_node_is_granted_what_it_did_not_ask_for(state: Election) -> None:
    with pytest.raises(AssertionError):
        granted(state, EPOCH, TERMS)
    with pytest.raises(AssertionError):
        held(state, "bob")


def test_a_candidate_that_is_refused_follows_and_knows_whom() -> None:
    assert held(CANDIDATE, "bob") == Follower("held by bob")


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (CANDIDATE, Follower("no answer from the lease store")),
        (FOLLOWER, FOLLOWER),
        (LEADER, LEADER),
    ],
)
def test_no_answer_neither_makes_nor_unmakes_a_leader(state: Election, after: Election) -> None:
    assert unanswered(state) == after


def test_a_renewal_moves_the_deadline_on_and_keeps_the_epoch() -> None:
    assert renewed(LEADER, T5, TERMS) == Leader(EPOCH, Monotonic(14.0))


def test_an_older_renewal_does_not_move_the_deadline_back() -> None:
    leader = Leader(EPOCH, Monotonic(100.0))
    assert renewed(leader, T5, TERMS) == leader


@pytest.mark.parametrize("state", [FOLLOWER, CANDIDATE])
def test_a_renewal_does_not_make_a_leader(state: Election) -> None:
    assert renewed(state, T5, TERMS) == state


@pytest.mark.parametrize("state", [FOLLOWER, CANDIDATE, LEADER])
def test_a_leader_that_steps_down_follows(state: Election) -> None:
    assert stepped_down(state, "resigned") == Follower("resigned")


@pytest.mark.parametrize(
    ("state", "now", "is_overdue"),
    [(LEADER, 8.999, False), (LEADER, 9.0, True), (LEADER, 50.0, True), (CANDIDATE, 50.0, False)],
)
def test_no_leader_at_its_deadline(state: Election, now: float, is_overdue: bool) -> None:
    assert overdue(state, Monotonic(now)) is is_overdue


class NeverTooLong(RuleBasedStateMachine):
    """Requests are sent, and answered late, in any order, or never; time only rises."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.state: Election = Follower()
        self.renewals: list[float] = []
        self.confirmed_at = float("-inf")
        self.epoch = 0

    @rule(seconds=st.floats(0, 20))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        if overdue(self.state, Monotonic(self.now)):
            self.state = stepped_down(self.state, "overdue")

    @rule()
    def send_campaign(self) -> None:
        self.state = campaign(self.state, Monotonic(self.now))

    @precondition(lambda self: isinstance(self.state, Candidate))
    @rule()
    def grant(self) -> None:
        assert isinstance(self.state, Candidate)
        self.epoch += 1
        self.renewals.clear()
        self.confirmed_at = self.state.sent_at
        self.state = granted(self.state, Epoch(self.epoch), TERMS)

    @precondition(lambda self: isinstance(self.state, Candidate))
    @rule()
    def hold_elsewhere(self) -> None:
        self.state = held(self.state, "bob")

    @precondition(lambda self: isinstance(self.state, Leader))
    @rule()
    def send_renewal(self) -> None:
        self.renewals.append(self.now)

    @precondition(lambda self: bool(self.renewals))
    @rule(data=st.data())
    def answer_some_renewal(self, data: st.DataObject) -> None:
        sent_at = self.renewals.pop(data.draw(st.integers(0, len(self.renewals) - 1)))
        if isinstance(self.state, Leader):
            self.confirmed_at = max(self.confirmed_at, sent_at)
        self.state = renewed(self.state, Monotonic(sent_at), TERMS)

    @rule()
    def lose_an_answer(self) -> None:
        self.state = unanswered(self.state)

    @rule()
    def be_refused(self) -> None:
        self.state = stepped_down(self.state, "refused")

    @invariant()
    def believes_only_what_was_confirmed(self) -> None:
        if isinstance(self.state, Leader):
            assert self.state.trusted_until == self.confirmed_at + TERMS.ttl_s - TERMS.margin_s
            assert self.state.epoch == self.epoch
        if isinstance(self.state, Leader) and not overdue(self.state, Monotonic(self.now)):
            assert self.now < self.confirmed_at + TERMS.ttl_s - TERMS.margin_s


TestNeverTooLong = NeverTooLong.TestCase
TestNeverTooLong.settings = settings(examples(40), stateful_step_count=40)


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ({"jitter": 0.9}, "jitter must be at least 1"),
        ({"renew_deadline_s": 6.7}, "must be at most 2/3 of ttl_s 10"),
        ({"renew_deadline_s": 10.0}, "must be at most 2/3 of ttl_s 10"),
        ({"ttl_s": 6.0}, "must be at most 2/3 of ttl_s 6"),
        ({"retry_period_s": 5.0}, "must exceed retry_period_s × jitter = 6"),
        ({"retry_period_s": 6.0}, "must exceed retry_period_s × jitter"),
        ({"jitter": 2.0}, "must exceed retry_period_s × jitter = 6"),
        ({"margin_s": 0.0}, "margin_s 0 must be at least 1"),
        ({"margin_s": 0.99}, "margin_s 0.99 must be at least 1"),
        ({"margin_s": 4.0}, "less than ttl_s - renew_deadline_s = 4"),
        ({"ttl_s": 100.0, "renew_deadline_s": 60.0, "margin_s": 4.9}, "must be at least 5"),
    ],
)
def test_terms_that_contradict_each_other_are_refused(terms: dict[str, float], complaint: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        replace(TERMS, **terms)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "terms",
    [{}, {"renew_deadline_s": 2 / 3 * 10}, {"margin_s": 3.9}, {"jitter": 1.0}, {"retry_period_s": 4.9}],
)
def test_terms_at_the_edge_are_not_refused(terms: dict[str, float]) -> None:
    assert replace(TERMS, **terms).ttl_s == 10
