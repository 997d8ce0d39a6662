"""Credentials made and ended in somebody's name, within what they may see."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.core.access import SessionTerms
from fencepost.errors import InvalidSpec, NotAllowed, UnknownToken, UsageError
from fencepost.model.access import (
    EVERYWHERE,
    Came,
    CredentialKind,
    NewSession,
    Principal,
    Role,
    SessionRecord,
    mint,
    read_credential,
)
from fencepost.model.audit import LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.operations.credentials import PAGE
from fencepost.services.janitor import Janitor
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA

BILLING = Namespace("billing")
TERMS = SessionTerms(lasts_s=7200, idle_s=600)
DAY_S = 86_400.0


def admin(namespace: Namespace) -> Principal:
    return Principal("anna", Role.ADMIN, namespace, Came.TOKEN, "t0")


@pytest.fixture
def house() -> House:
    return House()


def verbs(house: House, namespace: Namespace = NS, principal: Principal | None = None) -> Control:
    return Control(house.store, namespace, ANNA, principal=principal)


async def open_session(house: House, opened_with: str, namespace: Namespace = NS) -> SessionRecord:
    made = mint(CredentialKind.SESSION, lambda size: bytes(range(len(opened_with), len(opened_with) + size)))
    new = NewSession(made.credential_id, made.digest, "anna", Role.VIEWER, namespace, opened_with, 7200)
    session = await house.store.access.open_session(new, by_token=False, author=ANNA, asked_in=NS)
    assert session is not None
    return session


async def test_a_token_that_was_made_is_the_one_that_is_kept(house: House) -> None:
    made = await credentials.create(verbs(house), "ci", Role.OPERATOR, lasts_s=60)
    found = await house.store.access.find_token(made.record.token_id)
    shown = read_credential(made.credential.reveal())
    assert found is not None
    assert shown is not None
    assert shown.credential_id == made.record.token_id
    assert shown.fits(found.digest)
    assert made.credential.reveal() not in repr(made)


@pytest.mark.parametrize(
    "name",
    [
        *("FENCEPOST_TOKEN", "fencepost token", "Fencepost", "APPLICATION", "deploy", "system", "cli"),
        *(
            "ＦＥＮＣＥＰＯＳＴ_TOKEN",
            "f\u0435ncepost",
            "\u0441\u04cf\u0456",
            "cl\u0131",
            "os:anna",
            "t0123456789abcdef",
            "s0123456789ABCDEF",
        ),
    ],
)
async def test_no_token_is_called_what_fencepost_acts_under_or_what_looks_like_an_id(
    name: str, house: House
) -> None:
    with pytest.raises(InvalidSpec, match="choose another"):
        await credentials.create(verbs(house), name, Role.VIEWER)
    assert await credentials.tokens(verbs(house)) == []


async def test_no_token_is_called_as_one_that_is_good_where_it_acts(house: House) -> None:
    first = await credentials.create(verbs(house), "Anna", Role.ADMIN)
    boss = await credentials.create(verbs(house), "boss", Role.ADMIN, EVERYWHERE)
    for name, place in (("Anna", NS), ("an-na", NS), ("ANNA", EVERYWHERE), ("boss", NS), ("boss", BILLING)):
        with pytest.raises(InvalidSpec, match="; choose another, or rotate that one"):
            await credentials.create(verbs(house), name, Role.VIEWER, place)
    await credentials.create(verbs(house, BILLING), "Anna", Role.VIEWER, BILLING)
    await credentials.revoke(verbs(house), first.record.token_id)
    await credentials.rotate(verbs(house), boss.record.token_id, overlap_s=60)
    assert (await credentials.create(verbs(house), "anna", Role.VIEWER)).record.name == "anna", (
        "the other has ended"
    )


async def test_a_name_beyond_the_first_page_of_tokens_is_not_free(house: House) -> None:
    await credentials.create(verbs(house), "first", Role.VIEWER)
    for number in range(PAGE + 1):
        await credentials.create(verbs(house), f"number {number}", Role.VIEWER)
    with pytest.raises(InvalidSpec, match="is called first"):
        await credentials.create(verbs(house), "first", Role.VIEWER)


async def test_an_admin_of_one_namespace_makes_nothing_for_another(house: House) -> None:
    mine = verbs(house, NS, admin(NS))
    assert (await credentials.create(mine, "ci", Role.ADMIN)).record.namespace == NS
    assert (await credentials.create(mine, "ci two", Role.ADMIN, NS)).record.namespace == NS
    for other in (BILLING, EVERYWHERE):
        with pytest.raises(NotAllowed, match="good in default only"):
            await credentials.create(mine, "ci", Role.VIEWER, other)
        with pytest.raises(NotAllowed, match="good in default only"):
            await credentials.open_link(mine, Role.VIEWER, other)


async def test_an_admin_of_all_makes_them_for_any(house: House) -> None:
    for principal in (None, admin(EVERYWHERE)):
        for namespace in (BILLING, EVERYWHERE):
            name = f"ci of {namespace!r} by {principal}"[:200]
            made = await credentials.create(verbs(house, NS, principal), name, Role.VIEWER, namespace)
            assert made.record.namespace == namespace


@pytest.mark.parametrize("whose", [BILLING, EVERYWHERE])
async def test_what_is_of_another_namespace_is_not_there(house: House, whose: Namespace) -> None:
    other = await credentials.create(verbs(house), "theirs", Role.ADMIN, whose)
    session = await open_session(house, "theirs", whose)
    mine = verbs(house, NS, admin(NS))
    token_id = other.record.token_id
    assert await credentials.tokens(mine) == []
    assert await credentials.tokens(mine, whose) == []
    assert await credentials.sessions(mine, TERMS) == []
    assert await credentials.end_sessions(mine) == 0
    assert await credentials.end_sessions(mine, "theirs") == 0
    verbs_of_one: list[Any] = [credentials.token, credentials.rotate, credentials.revoke]
    for verb in verbs_of_one:
        with pytest.raises(UnknownToken, match="there is none of that id"):
            await verb(mine, token_id)
    with pytest.raises(UnknownToken, match="there is none of that id"):
        await credentials.end_session(mine, session.session_id)
    found = await house.store.access.find_token(token_id)
    assert found is not None
    assert found.record.revoked_at is None
    assert len(await credentials.tokens(verbs(house, NS, admin(EVERYWHERE)))) == 1


async def test_a_rotated_token_keeps_all_but_its_secret(house: House) -> None:
    old = await credentials.create(verbs(house), "ci", Role.OPERATOR, BILLING, lasts_s=DAY_S)
    house.clock.advance(100)
    new = await credentials.rotate(verbs(house), old.record.token_id, overlap_s=60)
    about = new.record.name, new.record.role, new.record.namespace, new.record.rotated_from
    assert about == ("ci", Role.OPERATOR, BILLING, old.record.token_id)
    assert new.record.expires_at is not None
    assert (new.record.expires_at - new.record.created_at).total_seconds() == DAY_S
    assert new.credential.reveal() != old.credential.reveal()
    with pytest.raises(UsageError, match="was rotated already"):
        await credentials.rotate(verbs(house), old.record.token_id)


async def test_revoking_leaves_an_entry_and_no_secret(house: House) -> None:
    made = await credentials.create(verbs(house), "ci", Role.OPERATOR)
    link = await credentials.open_link(verbs(house))
    revoked = await credentials.revoke(verbs(house), made.record.token_id)
    assert revoked.revoked_at == house.clock.wall()
    log = await house.store.audit_log.list(NS, LogFilter())
    assert [str(one.action) for one in log] == ["token.revoke", "link.open", "token.create"]
    assert {one.author for one in log} == {ANNA}
    for secret in (made.credential, link.credential):
        assert secret.reveal().rpartition("_")[2] not in str(log)
        assert secret.digest not in str(log)


async def test_a_link_is_for_its_author_unless_it_says_for_whom(house: House) -> None:
    assert (await credentials.open_link(verbs(house))).record.name == ANNA.name
    assert (await credentials.open_link(verbs(house), name="ben")).record.name == "ben"


async def test_an_idle_session_is_not_listed(house: House) -> None:
    session = await open_session(house, "t1")
    assert [one.session_id for one in await credentials.sessions(verbs(house), TERMS)] == [session.session_id]
    house.clock.advance(600)
    assert await credentials.sessions(verbs(house), TERMS) == []


async def test_sessions_are_ended_one_by_one_or_all(house: House) -> None:
    one, other = await open_session(house, "t1"), await open_session(house, "t22")
    await credentials.end_session(verbs(house), one.session_id)
    assert [each.session_id for each in await credentials.sessions(verbs(house), TERMS)] == [other.session_id]
    assert await credentials.end_sessions(verbs(house), "t22") == 1
    assert await credentials.sessions(verbs(house), TERMS) == []


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\nb", " ci"])
async def test_a_name_that_cannot_be_shown_is_refused(house: House, name: str) -> None:
    with pytest.raises(InvalidSpec, match="expected 1 to 200 printable characters"):
        await credentials.create(verbs(house), name, Role.VIEWER)


@pytest.mark.parametrize("namespace", ["", "**", "a b", "*x"])
async def test_a_namespace_that_cannot_be_is_refused(house: House, namespace: str) -> None:
    with pytest.raises(InvalidSpec, match="namespace"):
        await credentials.create(verbs(house), "ci", Role.VIEWER, namespace)


async def test_a_length_of_life_that_makes_no_sense_is_refused(house: House) -> None:
    made = await credentials.create(verbs(house), "ci", Role.VIEWER)
    for refused in (
        credentials.create(verbs(house), "ci", Role.VIEWER, lasts_s=0),
        credentials.create(verbs(house), "ci", Role.VIEWER, lasts_s=1e12),
        credentials.open_link(verbs(house), lasts_s=-1),
        credentials.open_link(verbs(house), lasts_s=2 * DAY_S),
        credentials.rotate(verbs(house), made.record.token_id, overlap_s=-1),
    ):
        with pytest.raises(UsageError, match="expected more than 0 and at most"):
            await refused


async def test_the_janitor_removes_what_is_long_over(house: House) -> None:
    gone = await credentials.create(verbs(house), "ci", Role.VIEWER, lasts_s=60)
    kept = await credentials.create(verbs(house), "kept", Role.VIEWER)
    await house.store.answers.begin(NS, "t1", "once", "x", 60)
    house.clock.advance(house.settings.retention_s + 61)
    await Janitor(house.store, house.settings).run_once()
    assert [one.token_id for one in await credentials.tokens(verbs(house))] == [kept.record.token_id]
    assert await house.store.access.find_token(gone.record.token_id) is None
    assert await house.store.answers.sweep(0, 10) == 0
