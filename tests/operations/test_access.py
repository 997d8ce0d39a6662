"""Who asks, and who may come in: seen and changed only as far as the asker may."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import ValidationError

from fencepost.config import Settings
from fencepost.errors import NotAllowed, UnknownToken
from fencepost.model.access import EVERYWHERE, Came, NewSession, Principal, Role, read_credential
from fencepost.model.identifiers import Namespace
from fencepost.operations.access import (
    CreateTokenRequest,
    EndSessionRequest,
    ListSessionsRequest,
    ListTokensRequest,
    OpenLinkRequest,
    RevokeTokenRequest,
    RotateTokenRequest,
    WhoAmIRequest,
    create_token,
    end_session,
    list_sessions,
    list_tokens,
    open_link,
    revoke_token,
    rotate_token,
    show_whoami,
)
from fencepost.operations.catalogue import all_operations
from fencepost.operations.control import Control
from tests.operations.asking import asked, there_and_back
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA

BILLING = Namespace("billing")


def at(house: House, namespace: Namespace | None, role: Role = Role.ADMIN) -> Control:
    """At the store itself, or with a credential of that namespace, or of all of them."""
    if namespace is None:
        return Control(house.store, NS, ANNA)
    principal = Principal("ben", role, namespace, Came.TOKEN, "t0")
    return Control(house.store, NS if namespace == EVERYWHERE else namespace, ANNA, principal=principal)


async def tokens(control: Control, **wanted: Any) -> list[str]:
    return [one.name for one in (await asked(control, list_tokens, ListTokensRequest(**wanted))).items]


async def test_whoever_opens_the_store_may_do_anything() -> None:
    found = await asked(at(House(), None), show_whoami, WhoAmIRequest())
    assert (found.name, found.role, found.namespace) == ("anna", Role.ADMIN, "*")
    assert (found.came, found.credential_id) == (None, None)


async def test_a_credential_is_told_what_it_is_good_for() -> None:
    found = await asked(at(House(), BILLING, Role.VIEWER), show_whoami, WhoAmIRequest())
    assert (found.name, found.role, found.namespace) == ("ben", Role.VIEWER, "billing")
    assert (found.came, found.credential_id) == (Came.TOKEN, "t0")


async def test_a_token_is_in_one_answer_and_in_no_other() -> None:
    control = at(House(), None)
    made = await asked(control, create_token, CreateTokenRequest(name="ci", role=Role.OPERATOR, lasts_s=60.0))
    assert read_credential(made.token) is not None
    assert made.token not in repr(made)
    assert (made.state, made.expires_at) == ("good", "2026-03-01T12:01:00Z")
    new = await asked(control, rotate_token, RotateTokenRequest(token_id=made.token_id))
    assert (new.rotated_from, new.token != made.token) == (made.token_id, True)
    ended = await asked(control, revoke_token, RevokeTokenRequest(token_id=new.token_id))
    assert ended.state == "revoked"
    page = await asked(control, list_tokens, ListTokensRequest())
    assert [one.state for one in page.items] == ["revoked", "expired"]
    for answer in (ended, page):
        assert made.token.rpartition("_")[2] not in repr(answer)
        assert new.token.rpartition("_")[2] not in repr(answer)


async def test_a_link_is_not_shown_by_itself() -> None:
    made = await asked(at(House(), None), open_link, OpenLinkRequest(role=Role.VIEWER))
    assert read_credential(made.link) is not None
    assert made.link not in repr(made)
    assert (made.role, made.namespace, made.name) == (Role.VIEWER, "default", "anna")


async def test_an_admin_of_one_namespace_meets_no_others_tokens() -> None:
    house = House()
    for namespace in ("default", "billing", "*"):
        question = CreateTokenRequest(name=f"of {namespace}", role=Role.VIEWER, namespace=namespace)
        await asked(at(house, EVERYWHERE), create_token, question)
    assert await tokens(at(house, EVERYWHERE)) == ["of *", "of billing", "of default"]
    assert await tokens(at(house, EVERYWHERE), namespace="billing") == ["of billing"]
    mine = at(house, BILLING)
    assert await tokens(mine) == ["of billing"]
    assert await tokens(mine, namespace="default") == []
    everything = (await asked(at(house, EVERYWHERE), list_tokens, ListTokensRequest())).items
    for one in everything:
        if one.namespace != BILLING:
            with pytest.raises(UnknownToken):
                await asked(mine, rotate_token, RotateTokenRequest(token_id=one.token_id))
            with pytest.raises(UnknownToken):
                await asked(mine, revoke_token, RevokeTokenRequest(token_id=one.token_id))
    assert (await asked(at(house, EVERYWHERE), list_tokens, ListTokensRequest())).items == everything


@pytest.mark.parametrize("namespace", ["default", "*"])
async def test_nobody_lets_others_in_where_they_may_not_go_themselves(namespace: str) -> None:
    mine = at(House(), BILLING)
    with pytest.raises(NotAllowed):
        await asked(mine, create_token, CreateTokenRequest(name="x", role=Role.VIEWER, namespace=namespace))
    with pytest.raises(NotAllowed):
        await asked(mine, open_link, OpenLinkRequest(namespace=namespace))


async def test_tokens_are_given_in_pages() -> None:
    control = at(House(), None)
    for name in "abc":
        await asked(control, create_token, CreateTokenRequest(name=name, role=Role.VIEWER))
    first = await asked(control, list_tokens, ListTokensRequest(limit=2))
    last = await asked(control, list_tokens, ListTokensRequest(limit=2, after=first.next))
    assert [one.name for one in (*first.items, *last.items)] == ["c", "b", "a"]
    assert last.next is None


async def signed_in(house: House, name: str, namespace: Namespace) -> str:
    new = NewSession(f"s{name}", "digest", name, Role.VIEWER, namespace, "l1", 3600)
    session = await house.memory.access.open_session(new, by_token=False, author=ANNA, asked_in=NS)
    assert session is not None
    return session.session_id


async def test_sessions_are_listed_and_ended_where_they_may_be_seen() -> None:
    house = House()
    theirs, mine = await signed_in(house, "ann", NS), await signed_in(house, "bob", BILLING)
    admin = at(house, BILLING)
    (shown,) = (await asked(admin, list_sessions, ListSessionsRequest())).items
    assert (shown.session_id, shown.name, shown.opened_with, shown.ended_at) == (mine, "bob", "l1", None)
    with pytest.raises(UnknownToken):
        await asked(admin, end_session, EndSessionRequest(session_id=theirs))
    assert (await asked(admin, end_session, EndSessionRequest(session_id=mine))).ended_at is not None
    assert (await asked(admin, list_sessions, ListSessionsRequest())).items == []
    left = await asked(at(house, EVERYWHERE), list_sessions, ListSessionsRequest())
    assert [one.session_id for one in left.items] == [theirs]


async def test_sessions_are_given_in_pages() -> None:
    house = House()
    for name in ("a", "b", "c"):
        await signed_in(house, name, NS)
    first = await asked(at(house, None), list_sessions, ListSessionsRequest(limit=2))
    last = await asked(at(house, None), list_sessions, ListSessionsRequest(limit=2, after=first.next))
    assert [one.name for one in (*first.items, *last.items)] == ["c", "b", "a"]
    assert last.next is None


async def test_sessions_that_nobody_uses_do_not_end_the_list() -> None:
    house = House()
    control = Control(house.store, NS, ANNA, settings=Settings(session_idle_s=600))
    oldest, *_ = [await signed_in(house, name, NS) for name in ("a", "idle-1", "idle-2")]
    house.clock.advance(601)
    await house.memory.access.note_use(oldest)
    for name in ("b", "c"):
        await signed_in(house, name, NS)
    first = await asked(control, list_sessions, ListSessionsRequest(limit=2))
    last = await asked(control, list_sessions, ListSessionsRequest(limit=2, after=first.next))
    assert [[one.name for one in page.items] for page in (first, last)] == [["c", "b"], ["a"]]
    assert last.next is None


@pytest.mark.parametrize("wrong", [{"namespace": "a b"}, {"namespace": "**"}, {"lasts_s": 0.0}, {"name": ""}])
def test_what_is_out_of_bounds_does_not_arrive(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        there_and_back(create_token, CreateTokenRequest(**{"name": "x", "role": Role.VIEWER} | wrong))


def test_no_answer_with_a_secret_is_kept() -> None:
    telling = {one.name for one in all_operations() if {"token", "link"} & {*one.response.__struct_fields__}}
    assert telling == {one.name for one in all_operations() if one.secret}
    assert telling == {"tokens.create", "tokens.rotate", "links.open"}


def test_only_an_admin_changes_who_may_come_in() -> None:
    verbs = [one for one in all_operations() if one.tag in ("tokens", "links", "sessions")]
    assert len(verbs) == 7
    assert {one.role for one in verbs} == {Role.ADMIN}
