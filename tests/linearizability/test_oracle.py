"""The checker's shortcuts change no verdict: on short histories it agrees with one that tries everything."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.model.identifiers import Epoch, NodeId
from fencepost.model.lease import Granted, HeldBy, Lost, Released, Unknown
from tests.linearizability.checker import Explained, GaveUp, Operation, check
from tests.linearizability.lease_history import Acquiring, LeaseOperation, LeaseRules, Releasing, Renewing
from tests.linearizability.model import MUTANTS, TTL_S, Model
from tests.linearizability.oracle import is_explained
from tests.linearizability.scripts import play, random_acts
from tests.properties import examples

GRID_TTL_S = 3

holders = st.sampled_from([NodeId("ann"), NodeId("ben")])
epochs = st.integers(1, 3).map(Epoch)
granted = st.builds(Granted, epochs)
unknown = st.just(Unknown("lost"))
calls = st.one_of(
    st.builds(
        Acquiring, holders, st.one_of(granted, st.builds(HeldBy, holders, epochs, st.just(1.0)), unknown)
    ),
    st.builds(Renewing, holders, epochs, st.one_of(granted, st.just(Lost()), unknown)),
    st.builds(Releasing, holders, epochs, st.one_of(st.just(Released()), st.just(Lost()), unknown)),
)


@st.composite
def operations(draw: st.DrawFn) -> LeaseOperation:
    """A call on a coarse grid of time, so that moments coincide."""
    what, sent_at = draw(calls), draw(st.integers(0, 8))
    answered_at = None if isinstance(what.answer, Unknown) else sent_at + draw(st.integers(0, 4))
    return Operation(what, sent_at, answered_at)


@examples(300)
@given(st.lists(operations(), max_size=5), st.sampled_from([0.0, 1.0, math.inf]))
def test_no_shortcut_changes_a_verdict(history: list[LeaseOperation], slack_s: float) -> None:
    agree(history, GRID_TTL_S, slack_s)


@pytest.mark.parametrize("model", [Model, *MUTANTS], ids=lambda model: model.__name__)
def test_no_shortcut_changes_a_verdict_on_a_likely_life(model: type[Model]) -> None:
    for seed in range(12):
        agree(play(model(), random_acts(Random(seed), 6)), TTL_S, 0.0)


def agree(history: list[LeaseOperation], ttl_s: float, slack_s: float) -> None:
    verdict = check(history, LeaseRules(ttl_s, slack_s))
    assert not isinstance(verdict, GaveUp)
    assert isinstance(verdict, Explained) == is_explained(history, ttl_s, slack_s), str(verdict)
