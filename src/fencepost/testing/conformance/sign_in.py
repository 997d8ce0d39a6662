"""The behaviour of sign-in links and of sessions: used once, and over when they are over."""

from __future__ import annotations

import asyncio

from fencepost.model.access import (
    EVERYWHERE,
    CredentialKind,
    NewLink,
    Role,
    SessionRecord,
    SignInLink,
    mint,
)
from fencepost.model.audit import Action
from fencepost.model.identifiers import Namespace
from fencepost.testing.conformance.access import (
    HOUR_S,
    digest,
    id_of,
    look_session,
    make_token,
    new_session,
    open_with,
    rotate,
    session_id,
    written,
)
from fencepost.testing.conformance.builders import MANY, NS, OTHER_NS, at
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, BEN, entries

MINUTE_S = 60.0


class SignInLinkContract:
    """A link opens one session, once."""

    async def test_a_link_is_not_kept_other_than_it_was_made(self, harness: StoreHarness) -> None:
        made = await make_link(harness)
        found = await harness.store.access.find_link(link_id(1))
        assert found is not None
        assert (found.record, found.digest, found.now) == (made, digest(1), harness.now)
        assert (made.name, made.role, made.namespace) == ("anna", Role.ADMIN, NS)
        assert (made.created_at, made.created_by, made.session_id) == (harness.now, "anna", None)
        assert made.expires_at == at(harness, MINUTE_S)

    async def test_a_repeated_link_is_not_written_twice(self, harness: StoreHarness) -> None:
        made = await make_link(harness)
        await harness.advance(5)
        assert await make_link(harness) == made
        assert len(await written(harness, Action.LINK_OPEN)) == 1

    async def test_a_link_becomes_a_session_and_no_second_one(self, harness: StoreHarness) -> None:
        await make_link(harness)
        session = await redeem(harness, 11)
        assert session is not None
        assert (session.name, session.role, session.namespace) == ("anna", Role.ADMIN, NS)
        assert (session.opened_with, session.ended_at) == (link_id(1), None)
        assert (session.created_at, session.last_used_at) == (harness.now, harness.now)
        assert session.expires_at == at(harness, HOUR_S)
        assert await redeem(harness, 12) is None
        assert await harness.store.access.find_session(session_id(12)) is None
        (entry,) = await written(harness, Action.SESSION_OPEN)
        assert (entry.subject, entry.author, entry.after["opened_with"]) == (session_id(11), BEN, link_id(1))

    async def test_a_redeemer_who_asks_again_is_not_refused(self, harness: StoreHarness) -> None:
        await make_link(harness)
        session = await redeem(harness, 11)
        await harness.advance(2 * MINUTE_S)
        assert await redeem(harness, 11) == session
        assert len(await written(harness, Action.SESSION_OPEN)) == 1

    async def test_of_redeemers_at_the_same_moment_not_two_come_in(self, harness: StoreHarness) -> None:
        await make_link(harness)
        every = await asyncio.gather(*(redeem(harness, number) for number in range(11, 19)))
        won = [one for one in every if one is not None]
        assert len(won) == 1
        assert list(await live(harness)) == won
        assert len(await written(harness, Action.SESSION_OPEN)) == 1

    async def test_an_expired_link_opens_no_session(self, harness: StoreHarness) -> None:
        await make_link(harness)
        await harness.advance(MINUTE_S)
        assert await redeem(harness, 11) is None
        assert await live(harness) == []

    async def test_a_link_does_not_outlive_the_token_it_rests_on(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2, lasts_s=MINUTE_S / 2)
        await make_token(harness, 3)
        for number in (1, 2, 3, 4):
            await make_link(harness, number, rests_on=id_of(number))
        await harness.store.access.revoke_token(id_of(1), author=ANNA, asked_in=NS)
        await rotate(harness, 3, 13)
        await harness.advance(MINUTE_S / 2)
        assert [await redeem(harness, 10 + number, number) for number in (1, 2, 3, 4)] == [None] * 4
        assert await live(harness) == []
        assert not await written(harness, Action.SESSION_OPEN)

    async def test_a_link_of_a_rotated_token_is_good_for_the_overlap(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_link(harness, rests_on=id_of(1))
        await rotate(harness, 1, 2, overlap_s=MINUTE_S)
        await harness.advance(MINUTE_S / 2)
        session = await redeem(harness, 11)
        assert session is not None
        assert session.expires_at == at(harness, MINUTE_S / 2)

    async def test_the_session_of_a_link_does_not_outlive_its_token(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2, lasts_s=2 * MINUTE_S)
        await make_token(harness, 3)
        for number in (1, 2, 3, 4):
            await make_link(harness, number, rests_on=None if number == 4 else id_of(number))
            session = await redeem(harness, 10 + number, number)
            assert session is not None
            assert (session.opened_with, session.rests_on) == (
                link_id(number),
                None if number == 4 else id_of(number),
            )
            assert session.expires_at == at(harness, 2 * MINUTE_S if number == 2 else HOUR_S)
        await harness.store.access.revoke_token(id_of(1), author=BEN, asked_in=NS)
        await rotate(harness, 3, 13, overlap_s=3 * MINUTE_S)
        assert (await look_session(harness, 11)).ended_at == harness.now
        assert (await look_session(harness, 13)).expires_at == at(harness, 3 * MINUTE_S)
        assert await alive(harness) == [14, 13, 12]
        (entry,) = await written(harness, Action.TOKEN_REVOKE)
        assert entry.after["sessions_ended"] == 1

    async def test_a_link_that_rests_on_no_token_asks_for_none(self, harness: StoreHarness) -> None:
        await make_link(harness, rests_on="setting-1")
        session = await redeem(harness, 11)
        assert session is not None
        assert (session.rests_on, session.expires_at) == ("setting-1", at(harness, HOUR_S))

    async def test_a_link_that_is_not_there_opens_no_session(self, harness: StoreHarness) -> None:
        assert await redeem(harness, 11) is None
        assert await live(harness) == []

    async def test_a_sweep_does_not_take_a_fresh_link(self, harness: StoreHarness) -> None:
        await make_link(harness)
        assert await harness.store.access.sweep(0, MANY) == 0
        await harness.advance(MINUTE_S)
        assert await harness.store.access.sweep(0, MANY) == 1
        assert await harness.store.access.find_link(link_id(1)) is None


class SessionContract:
    """Sessions, and what ends them."""

    async def test_a_session_does_not_outlive_its_token(self, harness: StoreHarness) -> None:
        await make_token(harness, 1, lasts_s=MINUTE_S)
        session = await open_with(harness, 1, session=11, lasts_s=HOUR_S)
        assert session is not None
        assert session.expires_at == at(harness, MINUTE_S)
        assert session == await look_session(harness, 11)

    async def test_no_session_is_opened_with_a_token_that_is_not_good(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2, lasts_s=MINUTE_S)
        await harness.store.access.revoke_token(id_of(1), author=ANNA, asked_in=NS)
        await harness.advance(MINUTE_S)
        for number in (1, 2, 3):
            assert await open_with(harness, number, session=10 + number) is None
        assert await live(harness) == []
        assert not await written(harness, Action.SESSION_OPEN)

    async def test_a_session_without_a_token_asks_for_none(self, harness: StoreHarness) -> None:
        new = new_session(11, "setting-1", lasts_s=MINUTE_S)
        session = await harness.store.access.open_session(new, by_token=False, author=ANNA, asked_in=NS)
        assert session is not None
        assert (session.opened_with, session.expires_at) == ("setting-1", at(harness, MINUTE_S))
        (entry,) = await written(harness, Action.SESSION_OPEN)
        assert entry.after["opened_with"] == "setting"

    async def test_a_session_is_not_opened_twice(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        session = await open_with(harness, 1, session=11)
        await harness.advance(5)
        assert await open_with(harness, 1, session=11) == session
        assert len(await written(harness, Action.SESSION_OPEN)) == 1

    async def test_an_ended_session_does_not_live(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await open_with(harness, 1, session=11)
        await harness.advance(5)
        ended = await harness.store.access.end_session(session_id(11), author=BEN, asked_in=NS)
        assert ended is not None
        assert ended.ended_at == harness.now
        assert await live(harness) == []
        await harness.advance(5)
        assert await harness.store.access.end_session(session_id(11), author=BEN, asked_in=NS) == ended
        assert await harness.store.access.end_session(session_id(12), author=BEN, asked_in=NS) is None
        (entry,) = await written(harness, Action.SESSION_END)
        assert (entry.subject, entry.author) == (session_id(11), BEN)

    async def test_only_what_lives_is_listed_and_of_no_other_namespace(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        for number, namespace, lasts_s in [(11, NS, 60), (12, NS, 90), (13, OTHER_NS, 90), (14, NS, 90)]:
            await open_with(harness, 1, session=number, namespace=namespace, lasts_s=lasts_s)
        await harness.store.access.end_session(session_id(14), author=BEN, asked_in=NS)
        await harness.advance(60)
        assert [one.session_id for one in await live(harness)] == [session_id(12)]
        assert [one.session_id for one in await live(harness, None)] == [session_id(13), session_id(12)]
        (last,) = await harness.store.access.sessions(None, limit=1)
        (older,) = await harness.store.access.sessions(None, before_number=last.number, limit=1)
        assert older.session_id == session_id(12)

    async def test_ending_all_does_not_end_those_of_others(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2)
        for number, token, namespace in [(11, 1, NS), (12, 2, NS), (13, 1, OTHER_NS), (14, 2, OTHER_NS)]:
            await open_with(harness, token, session=number, namespace=namespace)
        assert await end_all(harness, NS, id_of(1)) == 1
        assert await alive(harness) == [14, 13, 12]
        assert await end_all(harness, NS, None) == 1
        assert await alive(harness) == [14, 13]
        assert await end_all(harness, None, id_of(2)) == 1
        assert await end_all(harness, None, None) == 1
        assert await end_all(harness, None, None) == 0
        ended = [*await entries(harness), *await entries(harness, OTHER_NS)]
        subjects = [one.subject for one in ended if one.action is Action.SESSION_END]
        assert sorted(subjects) == [session_id(number) for number in (11, 12, 13, 14)]

    async def test_the_end_of_a_session_everywhere_is_logged_where_it_was_asked(
        self, harness: StoreHarness
    ) -> None:
        new = new_session(11, "setting-1", namespace=EVERYWHERE)
        await harness.store.access.open_session(new, by_token=False, author=ANNA, asked_in=OTHER_NS)
        await harness.store.access.end_session(session_id(11), author=BEN, asked_in=NS)
        assert [one.action for one in await entries(harness, OTHER_NS)] == [Action.SESSION_OPEN]
        assert [one.action for one in await entries(harness)] == [Action.SESSION_END]


def link_id(number: int) -> str:
    """The id of a link of this suite."""
    return mint(CredentialKind.LINK, lambda size: number.to_bytes(size, "big")).credential_id


async def make_link(harness: StoreHarness, number: int = 1, rests_on: str | None = None) -> SignInLink:
    """A link that anna made for herself."""
    about = digest(number), "anna", Role.ADMIN, NS, MINUTE_S, rests_on
    new = NewLink(link_id(number), *about)
    return await harness.store.access.open_link(new, author=ANNA, asked_in=NS)


async def redeem(harness: StoreHarness, session: int, link: int = 1) -> SessionRecord | None:
    """Use a link."""
    becomes = session_id(session), digest(session), HOUR_S
    return await harness.store.access.redeem_link(link_id(link), *becomes, author=BEN, asked_in=NS)


async def live(harness: StoreHarness, namespace: Namespace | None = NS) -> list[SessionRecord]:
    """The sessions that live, newest first."""
    return list(await harness.store.access.sessions(namespace, limit=MANY))


async def alive(harness: StoreHarness) -> list[int]:
    """The numbers of all sessions that live, newest first."""
    return [int(one.session_id[1:], 16) for one in await live(harness, None)]


async def end_all(harness: StoreHarness, namespace: Namespace | None, rests_on: str | None) -> int:
    """End sessions."""
    return await harness.store.access.end_sessions(namespace, rests_on=rests_on, author=BEN, asked_in=NS)
