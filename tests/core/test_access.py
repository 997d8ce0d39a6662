"""Whether a credential is good, and where somebody may act."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fencepost.core.access import (
    SessionTerms,
    acts_in,
    is_good,
    is_worth_noting,
    lifetime_s,
    may_act_in,
    may_grant,
)
from fencepost.model.access import (
    EVERYWHERE,
    Came,
    Principal,
    Role,
    SessionRecord,
    TokenRecord,
)
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
NS, OTHER = Namespace("default"), Namespace("billing")
TERMS = SessionTerms(lasts_s=7200, idle_s=600)
TOKEN = TokenRecord(1, "t1", "ci", Role.OPERATOR, NS, NOW, "anna")
SESSION = SessionRecord(1, "s1", "anna", Role.ADMIN, NS, NOW, later(NOW, 7200), NOW, "l1")


def somebody(namespace: Namespace) -> Principal:
    return Principal("anna", Role.ADMIN, namespace, Came.TOKEN, "t1")


@pytest.mark.parametrize(
    ("record", "after_s", "good"),
    [
        pytest.param(TOKEN, 10**8, True, id="a token without an end"),
        pytest.param(replace(TOKEN, expires_at=later(NOW, 60)), 59, True, id="a token before its end"),
        pytest.param(replace(TOKEN, expires_at=later(NOW, 60)), 60, False, id="a token at its end"),
        pytest.param(replace(TOKEN, revoked_at=NOW), 0, False, id="a revoked token"),
        pytest.param(replace(TOKEN, revoked_at=NOW, expires_at=later(NOW, 60)), 1, False, id="revoked first"),
        pytest.param(SESSION, 599, True, id="a session that is used"),
        pytest.param(SESSION, 600, False, id="a session that nobody used"),
        pytest.param(replace(SESSION, last_used_at=later(NOW, 7000)), 7199, True, id="its last second"),
        pytest.param(replace(SESSION, last_used_at=later(NOW, 7000)), 7200, False, id="its last day came"),
        pytest.param(replace(SESSION, ended_at=NOW), 0, False, id="a session that was ended"),
    ],
)
def test_a_credential_is_good_until_something_ends_it(
    record: TokenRecord | SessionRecord, after_s: float, good: bool
) -> None:
    assert is_good(record, later(NOW, after_s), TERMS) is good


def test_no_role_covers_a_higher_one() -> None:
    covered = {(has, needed) for has in Role for needed in Role if has.covers(needed)}
    assert covered == {
        (Role.WORKER, Role.WORKER),
        (Role.OPERATOR, Role.WORKER),
        (Role.ADMIN, Role.WORKER),
        (Role.VIEWER, Role.VIEWER),
        (Role.OPERATOR, Role.VIEWER),
        (Role.OPERATOR, Role.OPERATOR),
        (Role.ADMIN, Role.VIEWER),
        (Role.ADMIN, Role.OPERATOR),
        (Role.ADMIN, Role.ADMIN),
    }


@pytest.mark.parametrize(
    ("has", "asked", "acts"),
    [(NS, None, NS), (NS, NS, NS), (NS, OTHER, None), (EVERYWHERE, OTHER, OTHER), (EVERYWHERE, None, NS)],
)
def test_only_one_who_is_good_everywhere_chooses_a_namespace(
    has: Namespace, asked: Namespace | None, acts: Namespace | None
) -> None:
    assert acts_in(somebody(has), asked, otherwise=NS) == acts


@pytest.mark.parametrize(("has", "may"), [(NS, True), (OTHER, False), (EVERYWHERE, True)])
def test_no_principal_acts_in_a_namespace_of_others(has: Namespace, may: bool) -> None:
    assert may_act_in(somebody(has), NS) is may
    assert may_grant(somebody(has), NS) is may


def test_only_one_who_is_good_everywhere_makes_others_so() -> None:
    assert not may_grant(somebody(NS), EVERYWHERE)
    assert may_grant(somebody(EVERYWHERE), EVERYWHERE)
    assert may_grant(None, EVERYWHERE)


def test_a_use_is_not_written_down_more_than_once_a_minute() -> None:
    assert is_worth_noting(None, NOW)
    assert not is_worth_noting(NOW, later(NOW, 59))
    assert is_worth_noting(NOW, later(NOW, 60))


def test_a_successor_lives_as_long_as_its_token_was_made_for() -> None:
    assert lifetime_s(TOKEN) is None
    assert lifetime_s(replace(TOKEN, expires_at=later(NOW, 60))) == 60
