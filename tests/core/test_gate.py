"""When catch-up is held back, and when it is not."""

from __future__ import annotations

import pytest

from fencepost.core.gate import why_close
from fencepost.model.claiming import GateFacts
from fencepost.model.policies import GateTerms

TERMS = GateTerms(waiting_max=5, failed_share=0.5, of_last=4)


@pytest.mark.parametrize(
    ("waiting", "failed", "why"),
    [
        (0, (), None),
        (5, (), None),
        (6, (), "more than 5 catch-up runs wait"),
        (0, (True, True, True), None),
        (0, (True, True, False, False), None),
        (0, (True, True, True, False), "3 of the last 4 catch-up runs failed"),
        (0, (False, False, False, False, True, True, True, True), None),
        (0, (True, True, True, True, False, False), "4 of the last 4 catch-up runs failed"),
        (6, (True, True, True, True), "more than 5 catch-up runs wait"),
    ],
)
def test_the_gate_closes_for_a_reason(waiting: int, failed: tuple[bool, ...], why: str | None) -> None:
    assert why_close(TERMS, GateFacts(False, waiting, failed)) == why


def test_a_share_of_one_never_closes_it_for_failures() -> None:
    assert why_close(GateTerms(failed_share=1, of_last=3), GateFacts(failed=(True, True, True))) is None


def test_a_share_of_nothing_closes_it_at_the_first_failure_of_a_full_count() -> None:
    terms = GateTerms(failed_share=0, of_last=3)
    assert why_close(terms, GateFacts(failed=(False, False, True))) == "1 of the last 3 catch-up runs failed"
