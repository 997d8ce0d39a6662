"""Two who come at the same moment: one link lets in one, and no session slips past the end of its token."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.access import NewLink, NewSession, NewToken, Role
from fencepost.model.audit import Author
from fencepost.model.idempotency import Begun, InFlight
from fencepost.model.identifiers import DEFAULT_NAMESPACE
from fencepost.stores.postgres import PostgresStore, open_store
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

NS, ANNA = DEFAULT_NAMESPACE, Author("anna", "test")
WHO: Any = {"author": ANNA, "asked_in": NS}
REDEEM = "UPDATE fencepost.sign_in_links SET session_id = 's-first' WHERE link_id = 'l1'"
REVOKE = "UPDATE fencepost.tokens SET revoked_at = fencepost.now() WHERE token_id = 't1'"
SHARE = "SELECT 1 FROM fencepost.tokens WHERE token_id = 't1' FOR SHARE"
BEGIN = """
    INSERT INTO fencepost.answers (namespace, principal_id, key, fingerprint, asked_at, held_until)
    VALUES ('default', 't1', 'once', 'x', fencepost.now(), fencepost.now() + interval '1 hour')"""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(postgres_url, clock=SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def rival(postgres_url: str) -> AsyncIterator[Any]:
    """A second client, whose transactions the test holds open as long as it likes."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def make_link(store: PostgresStore) -> None:
    await store.access.open_link(NewLink("l1", "d", "anna", Role.ADMIN, NS, 600), **WHO)


async def make_token(store: PostgresStore) -> None:
    await store.access.create_token(NewToken("t1", "d", "ci", Role.ADMIN, NS), **WHO)


async def test_of_two_redeemers_the_second_waits_and_then_gets_nothing(
    store: PostgresStore, rival: Any
) -> None:
    """A look at the link before the write would find it free."""
    await make_link(store)
    async with rival.transaction():
        await rival.execute(REDEEM)
        redeeming = asyncio.create_task(store.access.redeem_link("l1", "s-second", "d", 600, **WHO))
        await until_blocked(rival)
    assert await redeeming is None
    assert await store.access.find_session("s-second") is None


async def test_the_second_redeemer_wins_where_the_first_goes_back(store: PostgresStore, rival: Any) -> None:
    await make_link(store)
    first = rival.transaction()
    await first.start()
    await rival.execute(REDEEM)
    redeeming = asyncio.create_task(store.access.redeem_link("l1", "s-second", "d", 600, **WHO))
    await until_blocked(rival)
    await first.rollback()
    session = await redeeming
    assert session is not None
    assert session.session_id == "s-second"


async def test_no_session_is_opened_while_its_token_is_being_revoked(
    store: PostgresStore, rival: Any
) -> None:
    """A comparison without the lock would see the token as it was before."""
    await make_token(store)
    new = NewSession("s1", "d", "ci", Role.ADMIN, NS, "t1", 600)
    async with rival.transaction():
        await rival.execute(REVOKE)
        opening = asyncio.create_task(store.access.open_session(new, by_token=True, **WHO))
        await until_blocked(rival)
    assert await opening is None
    assert await store.access.find_session("s1") is None


async def test_a_token_is_not_revoked_in_the_middle_of_a_sign_in(store: PostgresStore, rival: Any) -> None:
    """Whoever revokes waits for the session, and then ends it too."""
    await make_token(store)
    await store.access.open_session(
        NewSession("s1", "d", "ci", Role.ADMIN, NS, "t1", 600), by_token=True, **WHO
    )
    async with rival.transaction():
        await rival.fetchval(SHARE)
        revoking = asyncio.create_task(store.access.revoke_token("t1", **WHO))
        await until_blocked(rival)
    assert await revoking is not None
    found = await store.access.find_session("s1")
    assert found is not None
    assert found.record.ended_at is not None


async def test_a_token_is_not_rotated_into_two(store: PostgresStore, rival: Any) -> None:
    await make_token(store)
    rotations = [
        store.access.rotate_token("t1", NewToken(f"t{n}", "d", "ci", Role.ADMIN, NS), 60, **WHO)
        for n in (2, 3)
    ]
    async with rival.transaction():
        await rival.fetchval(SHARE)
        both = [asyncio.create_task(one) for one in rotations]
        await until_blocked(rival)
    made = [await one for one in both]
    assert sorted(one is None for one in made) == [False, True]


async def test_a_call_that_is_being_begun_is_not_begun_again(store: PostgresStore, rival: Any) -> None:
    async with rival.transaction():
        await rival.execute(BEGIN)
        beginning = asyncio.create_task(store.answers.begin(NS, "t1", "once", "x", 60))
        await until_blocked(rival)
    assert await beginning == InFlight()
    assert isinstance(await store.answers.begin(NS, "t1", "other", "x", 60), Begun)


async def test_no_link_is_redeemed_while_its_token_is_being_revoked(store: PostgresStore, rival: Any) -> None:
    await make_token(store)
    await store.access.open_link(NewLink("l1", "d", "anna", Role.ADMIN, NS, 600, "t1"), **WHO)
    async with rival.transaction():
        await rival.execute(REVOKE)
        redeeming = asyncio.create_task(store.access.redeem_link("l1", "s1", "d", 600, **WHO))
        await until_blocked(rival)
    assert await redeeming is None
    assert await store.access.find_session("s1") is None
    found = await store.access.find_link("l1")
    assert found is not None
    assert found.record.session_id is None
