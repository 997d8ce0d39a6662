"""The behaviour of credentials: tokens, and what ends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.model.access import (
    EVERYWHERE,
    CredentialKind,
    Found,
    NewSession,
    NewToken,
    Role,
    SessionRecord,
    TokenRecord,
    mint,
)
from fencepost.model.audit import Action, Entry
from fencepost.model.identifiers import Namespace
from fencepost.testing.conformance.builders import MANY, NS, OTHER_NS, at
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, BEN, entries

HOUR_S = 3600.0


class TokenContract:
    """Tokens, and which of them are good."""

    async def test_a_token_is_not_kept_other_than_it_was_made(self, harness: StoreHarness) -> None:
        made = await make_token(harness, 1, lasts_s=HOUR_S)
        found = await look(harness, 1)
        assert found.record == made
        assert (found.digest, found.now) == (digest(1), harness.now)
        assert (made.token_id, made.name, made.role, made.namespace) == (id_of(1), "ci", Role.OPERATOR, NS)
        assert (made.created_at, made.created_by) == (harness.now, "anna")
        assert made.expires_at == at(harness, HOUR_S)
        assert (made.last_used_at, made.revoked_at, made.rotated_from) == (None, None, None)
        assert (await make_token(harness, 2)).expires_at is None

    async def test_a_repeated_creation_makes_no_second_token(self, harness: StoreHarness) -> None:
        made = await make_token(harness, 1)
        await harness.advance(5)
        assert await make_token(harness, 1) == made
        assert await numbers(harness) == [1]
        assert len(await written(harness, Action.TOKEN_CREATE)) == 1

    async def test_no_other_id_finds_a_token(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        assert await harness.store.access.find_token(id_of(2)) is None
        assert await harness.store.access.find_session(id_of(1)) is None
        assert await harness.store.access.find_link(id_of(1)) is None

    async def test_many_are_found_at_once_and_none_that_was_not_asked_for(
        self, harness: StoreHarness
    ) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2)
        await make_token(harness, 3)
        await open_with(harness, 1, 101)
        await open_with(harness, 1, 102)
        revoked = await harness.store.access.revoke_token(id_of(2), author=BEN, asked_in=NS)
        asked = [id_of(1), id_of(2), session_id(101), id_of(9), session_id(109)]
        found = await harness.store.access.find(asked)
        expected = [(await look(harness, 1)).record, revoked, await look_session(harness, 101)]
        assert sorted(map(repr, (one.record for one in found))) == sorted(map(repr, expected))
        assert {one.now for one in found} == {harness.now}
        assert {one.digest for one in found} == {digest(1), digest(2), digest(101)}
        assert list(await harness.store.access.find([])) == []

    async def test_tokens_of_another_namespace_are_not_listed(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2, namespace=OTHER_NS)
        await make_token(harness, 3, namespace=EVERYWHERE)
        assert await numbers(harness) == [1]
        assert await numbers(harness, None) == [3, 2, 1]

    async def test_paging_neither_repeats_nor_leaves_out(self, harness: StoreHarness) -> None:
        for one in range(1, 6):
            await make_token(harness, one)
        seen: list[str] = []
        before = None
        while page := await harness.store.access.tokens(NS, before_number=before, limit=2):
            assert len(page) <= 2
            seen += [one.token_id for one in page]
            before = page[-1].number
        assert seen == [id_of(one) for one in (5, 4, 3, 2, 1)]

    async def test_a_change_is_not_logged_where_no_reader_of_the_namespace_sees_it(
        self, harness: StoreHarness
    ) -> None:
        await make_token(harness, 1, namespace=OTHER_NS)
        assert [one.subject for one in await entries(harness, OTHER_NS)] == [id_of(1)]
        await make_token(harness, 2, namespace=EVERYWHERE)
        (entry,) = await entries(harness)
        assert (entry.subject, entry.author, entry.at) == (id_of(2), ANNA, harness.now)

    async def test_no_entry_holds_a_digest(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await rotate(harness, 1, 2)
        await open_with(harness, 2)
        await harness.store.access.revoke_token(id_of(2), author=BEN, asked_in=NS)
        found = await entries(harness)
        assert [str(one.action) for one in found] == [
            *("token.revoke", "session.open", "token.rotate", "token.rotate", "token.create")
        ]
        assert not [one for one in found if any(digest(place) in str(one) for place in range(9))]

    async def test_a_revoked_token_keeps_no_session(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2)
        await open_with(harness, 1, session=11)
        await open_with(harness, 2, session=12)
        await harness.advance(5)
        revoked = await harness.store.access.revoke_token(id_of(1), author=BEN, asked_in=NS)
        assert revoked is not None
        assert revoked.revoked_at == harness.now
        assert (await look(harness, 1)).record == revoked
        assert (await look_session(harness, 11)).ended_at == harness.now
        assert (await look_session(harness, 12)).ended_at is None
        (entry,) = await written(harness, Action.TOKEN_REVOKE)
        assert (entry.author, entry.subject, entry.after["sessions_ended"]) == (BEN, id_of(1), 1)

    async def test_a_token_is_not_revoked_twice(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        first = await harness.store.access.revoke_token(id_of(1), author=ANNA, asked_in=NS)
        await harness.advance(5)
        assert await harness.store.access.revoke_token(id_of(1), author=BEN, asked_in=NS) == first
        assert len(await written(harness, Action.TOKEN_REVOKE)) == 1
        assert await harness.store.access.revoke_token(id_of(9), author=BEN, asked_in=NS) is None

    async def test_a_rotated_token_is_not_good_beyond_its_overlap(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        made = await rotate(harness, 1, 2, overlap_s=60, lasts_s=HOUR_S)
        assert made is not None
        assert (made.rotated_from, made.expires_at) == (id_of(1), at(harness, HOUR_S))
        assert (await look(harness, 1)).record.expires_at == at(harness, 60)
        assert (await look(harness, 2)).digest == digest(2)

    async def test_a_rotation_does_not_lengthen_a_life(self, harness: StoreHarness) -> None:
        await make_token(harness, 1, lasts_s=30)
        await rotate(harness, 1, 2, overlap_s=60)
        assert (await look(harness, 1)).record.expires_at == at(harness, 30)

    async def test_a_rotation_without_overlap_leaves_no_moment(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await rotate(harness, 1, 2)
        assert (await look(harness, 1)).record.expires_at == harness.now
        assert await open_with(harness, 1) is None

    async def test_sessions_do_not_outlive_a_rotated_token(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await open_with(harness, 1, session=11, lasts_s=HOUR_S)
        await rotate(harness, 1, 2, overlap_s=60)
        assert (await look_session(harness, 11)).expires_at == at(harness, 60)

    async def test_a_token_has_no_second_successor(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        made = await rotate(harness, 1, 2, overlap_s=60)
        assert await rotate(harness, 1, 3, overlap_s=60) is None
        assert await rotate(harness, 1, 2, overlap_s=60) == made
        assert await numbers(harness) == [2, 1]
        assert len(await written(harness, Action.TOKEN_ROTATE)) == 2

    async def test_what_is_not_good_is_not_rotated(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await make_token(harness, 2, lasts_s=60)
        await harness.store.access.revoke_token(id_of(1), author=ANNA, asked_in=NS)
        await harness.advance(60)
        assert await rotate(harness, 1, 11) is None
        assert await rotate(harness, 2, 12) is None
        assert await rotate(harness, 3, 13) is None
        assert await numbers(harness) == [2, 1]

    async def test_the_last_use_does_not_go_back(self, harness: StoreHarness) -> None:
        await make_token(harness, 1)
        await open_with(harness, 1, session=11)
        await harness.advance(90)
        await harness.store.access.note_use(id_of(1))
        await harness.store.access.note_use(session_id(11))
        assert (await look(harness, 1)).record.last_used_at == harness.now
        assert (await look_session(harness, 11)).last_used_at == harness.now
        assert [one.action for one in await entries(harness)] == [Action.SESSION_OPEN, Action.TOKEN_CREATE]

    async def test_a_sweep_does_not_take_what_is_good_or_has_just_ended(self, harness: StoreHarness) -> None:
        for one in (1, 2, 3):
            await make_token(harness, one, lasts_s=60 if one == 2 else None)
            await open_with(harness, one, session=10 + one, lasts_s=10 * HOUR_S)
        await harness.store.access.revoke_token(id_of(3), author=ANNA, asked_in=NS)
        await harness.advance(60 + HOUR_S - 1)
        assert await harness.store.access.sweep(HOUR_S, MANY) == 2
        assert await numbers(harness) == [2, 1]
        assert await harness.store.access.find_session(session_id(13)) is None
        await harness.advance(1)
        assert await harness.store.access.sweep(HOUR_S, MANY) == 2
        assert await numbers(harness) == [1]
        assert (await look_session(harness, 11)).ended_at is None

    async def test_a_sweep_takes_no_more_than_it_may(self, harness: StoreHarness) -> None:
        for one in range(5):
            await make_token(harness, one, lasts_s=60)
        await harness.advance(HOUR_S)
        assert [await harness.store.access.sweep(0, 2) for _ in range(4)] == [2, 2, 1, 0]


def id_of(number: int) -> str:
    """The id of a token of this suite."""
    return mint(CredentialKind.TOKEN, lambda size: number.to_bytes(size, "big")).credential_id


def session_id(number: int) -> str:
    """The id of a session of this suite."""
    return mint(CredentialKind.SESSION, lambda size: number.to_bytes(size, "big")).credential_id


def digest(number: int) -> str:
    """What is kept of a credential of this suite."""
    return f"{number:064x}"


def new_token(number: int, namespace: Namespace = NS, lasts_s: float | None = None) -> NewToken:
    """A token to be written down."""
    return NewToken(id_of(number), digest(number), "ci", Role.OPERATOR, namespace, lasts_s)


async def make_token(harness: StoreHarness, number: int, **fields: Any) -> TokenRecord:
    """A token that anna made."""
    return await harness.store.access.create_token(new_token(number, **fields), author=ANNA, asked_in=NS)


async def rotate(
    harness: StoreHarness, number: int, into: int, overlap_s: float = 0.0, lasts_s: float | None = None
) -> TokenRecord | None:
    """Put a token in the place of another."""
    new = new_token(into, lasts_s=lasts_s)
    return await harness.store.access.rotate_token(id_of(number), new, overlap_s, author=BEN, asked_in=NS)


def new_session(
    number: int, opened_with: str, namespace: Namespace = NS, lasts_s: float = HOUR_S
) -> NewSession:
    """A session to be opened."""
    about = digest(number), "anna", Role.VIEWER, namespace
    return NewSession(session_id(number), *about, opened_with, lasts_s)


async def open_with(
    harness: StoreHarness, token: int, session: int = 100, **fields: Any
) -> SessionRecord | None:
    """Open a session with a token."""
    new = new_session(session, id_of(token), **fields)
    return await harness.store.access.open_session(new, by_token=True, author=ANNA, asked_in=NS)


async def look(harness: StoreHarness, number: int) -> Found[TokenRecord]:
    """A token that is known to be there."""
    found = await harness.store.access.find_token(id_of(number))
    assert found is not None
    return found


async def look_session(harness: StoreHarness, number: int) -> SessionRecord:
    """A session that is known to be there."""
    found = await harness.store.access.find_session(session_id(number))
    assert found is not None
    assert (found.digest, found.now) == (digest(number), harness.now)
    return found.record


async def numbers(harness: StoreHarness, namespace: Namespace | None = NS) -> list[int]:
    """Which tokens are listed, newest first."""
    found = await harness.store.access.tokens(namespace, limit=MANY)
    return [int(one.token_id[1:], 16) for one in found]


async def written(harness: StoreHarness, action: Action) -> Sequence[Entry]:
    """The entries about one kind of change."""
    return await entries(harness, action=action)
