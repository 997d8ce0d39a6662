"""Credentials in PostgreSQL.

A token is locked while something depends on its being good: in share mode for a session that is to rest on
it, alone by whoever ends it. So a session is either ended with its token or was never opened. A link is only
locked behind the token that it rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fencepost.model.access import (
    Found,
    NewLink,
    NewSession,
    NewToken,
    SessionRecord,
    SignInLink,
    TokenRecord,
    is_token_id,
)
from fencepost.model.audit import Action, Author
from fencepost.model.identifiers import Namespace
from fencepost.rules.access_rows import (
    logged_in,
    logged_link,
    logged_session,
    logged_token,
    to_found_link,
    to_found_session,
    to_found_token,
    to_link,
    to_session,
    to_token,
)
from fencepost.stores.postgres.audit_log import Change, log
from fencepost.stores.postgres.connection import Database, clean
from fencepost.stores.postgres.writing import store_time
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from fencepost.stores.postgres.connection import Row, Session

QUERIES = load_queries(__package__, "access.sql")


class PostgresAccess:
    """See `ports.access`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create_token(self, new: NewToken, *, author: Author, asked_in: Namespace) -> TokenRecord:
        async with self._database.transaction() as session:
            row = await _write_token(session, new, author, None)
            if row is None:
                row = await session.fetchrow(QUERIES["get_token"], new.token_id)
                assert row is not None
                return to_token(row)
            record = to_token(row)
            change = Change(record.token_id, {}, logged_token(record))
            await log(session, logged_in(record.namespace, asked_in), author, Action.TOKEN_CREATE, change)
            return record

    async def tokens(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[TokenRecord]:
        rows = await self._page("tokens", namespace, before_number, limit)
        return [to_token(row) for row in rows]

    async def find_token(self, token_id: str) -> Found[TokenRecord] | None:
        row = await self._database.fetch_one(QUERIES["get_token"], token_id)
        return None if row is None else to_found_token(row, row["now"])

    async def rotate_token(
        self, token_id: str, new: NewToken, overlap_s: float, *, author: Author, asked_in: Namespace
    ) -> TokenRecord | None:
        async with self._database.transaction() as session:
            row = await session.fetchrow(QUERIES["lock_token"], token_id)
            made = await session.fetchrow(QUERIES["get_token"], new.token_id)
            if made is not None:
                return to_token(made)
            if row is None or not row["good"] or await session.fetch(QUERIES["successor"], token_id):
                return None
            until = await store_time(session) + timedelta(seconds=overlap_s)
            shortened = await session.fetchrow(QUERIES["shorten_token"], token_id, until)
            await session.fetch(QUERIES["shorten_sessions"], token_id, until)
            written = await _write_token(session, new, author, token_id)
            assert shortened is not None
            assert written is not None
            record = to_token(written)
            after = logged_token(to_token(shortened), successor=new.token_id)
            change = Change(token_id, logged_token(to_token(row)), after)
            await log(session, logged_in(row["namespace"], asked_in), author, Action.TOKEN_ROTATE, change)
            change = Change(new.token_id, {}, logged_token(record))
            await log(session, logged_in(record.namespace, asked_in), author, Action.TOKEN_ROTATE, change)
            return record

    async def revoke_token(self, token_id: str, *, author: Author, asked_in: Namespace) -> TokenRecord | None:
        async with self._database.transaction() as session:
            row = await session.fetchrow(QUERIES["lock_token"], token_id)
            if row is None:
                return None
            before = to_token(row)
            if before.revoked_at is not None:
                return before
            revoked = await session.fetchrow(QUERIES["revoke_token"], token_id)
            ended = await session.fetch(QUERIES["end_sessions"], None, token_id)
            assert revoked is not None
            after = logged_token(before, sessions_ended=len(ended))
            change = Change(token_id, logged_token(before), after)
            await log(session, logged_in(before.namespace, asked_in), author, Action.TOKEN_REVOKE, change)
            return to_token(revoked)

    async def open_link(self, new: NewLink, *, author: Author, asked_in: Namespace) -> SignInLink:
        about = new.link_id, new.digest, clean(new.name), new.role, new.namespace
        async with self._database.transaction() as session:
            times = new.lasts_s, new.rests_on
            made = await session.fetch(QUERIES["open_link"], *about, clean(author.name), *times)
            row = await session.fetchrow(QUERIES["get_link"], new.link_id)
            assert row is not None
            record = to_link(row)
            if made:
                change = Change(record.link_id, {}, logged_link(record))
                await log(session, logged_in(record.namespace, asked_in), author, Action.LINK_OPEN, change)
            return record

    async def find_link(self, link_id: str) -> Found[SignInLink] | None:
        row = await self._database.fetch_one(QUERIES["get_link"], link_id)
        return None if row is None else to_found_link(row, row["now"])

    async def redeem_link(
        self,
        link_id: str,
        session_id: str,
        digest: str,
        lasts_s: float,
        *,
        author: Author,
        asked_in: Namespace,
    ) -> SessionRecord | None:
        async with self._database.transaction() as session:
            row = await session.fetchrow(QUERIES["get_link"], link_id)
            if row is None:
                return None
            link = to_link(row)
            good, until = await _end_of(session, link.rests_on if is_token_id(link.rests_on) else None)
            if good and await session.fetch(QUERIES["redeem_link"], link_id, session_id):
                new = NewSession(session_id, digest, link.name, link.role, link.namespace, link_id, lasts_s)
                return await _write_session(session, new, until, link.rests_on, author, asked_in)
            row = await session.fetchrow(QUERIES["get_link"], link_id)
            if row is None or row["session_id"] != session_id:
                return None
            mine = await session.fetchrow(QUERIES["get_session"], session_id)
            return None if mine is None else to_session(mine)

    async def open_session(
        self, new: NewSession, *, by_token: bool, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        async with self._database.transaction() as session:
            mine = await session.fetchrow(QUERIES["get_session"], new.session_id)
            if mine is not None:
                return to_session(mine)
            good, until = await _end_of(session, new.opened_with if by_token else None)
            if not good:
                return None
            return await _write_session(session, new, until, new.opened_with, author, asked_in)

    async def sessions(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[SessionRecord]:
        rows = await self._page("sessions", namespace, before_number, limit)
        return [to_session(row) for row in rows]

    async def find_session(self, session_id: str) -> Found[SessionRecord] | None:
        row = await self._database.fetch_one(QUERIES["get_session"], session_id)
        return None if row is None else to_found_session(row, row["now"])

    async def find(
        self, credential_ids: Sequence[str]
    ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
        tokens = await self._database.fetch(QUERIES["get_tokens"], credential_ids)
        sessions = await self._database.fetch(QUERIES["get_sessions"], credential_ids)
        return [
            *(to_found_token(row, row["now"]) for row in tokens),
            *(to_found_session(row, row["now"]) for row in sessions),
        ]

    async def end_session(
        self, session_id: str, *, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        async with self._database.transaction() as session:
            ended = await session.fetchrow(QUERIES["end_session"], session_id)
            if ended is not None:
                await _log_ends(session, [to_session(ended)], author, asked_in)
            row = ended or await session.fetchrow(QUERIES["get_session"], session_id)
            return None if row is None else to_session(row)

    async def end_sessions(
        self, namespace: Namespace | None, *, rests_on: str | None, author: Author, asked_in: Namespace
    ) -> int:
        async with self._database.transaction() as session:
            rows = await session.fetch(QUERIES["end_sessions"], namespace, rests_on)
            await _log_ends(session, [to_session(row) for row in rows], author, asked_in)
            return len(rows)

    async def note_use(self, credential_id: str) -> None:
        await self._database.fetch(QUERIES["note_use"], credential_id)

    async def sweep(self, kept_s: float, limit: int) -> int:
        every = ("sweep_tokens", "sweep_sessions", "sweep_links")
        return sum([len(await self._database.fetch(QUERIES[query], kept_s, limit)) for query in every])

    async def _page(
        self, query: str, namespace: Namespace | None, before_number: int | None, limit: int
    ) -> list[Row]:
        if namespace is None:
            return await self._database.fetch(QUERIES[query], before_number, limit)
        return await self._database.fetch(QUERIES[f"{query}_of"], before_number, limit, namespace)


async def _write_token(
    session: Session, new: NewToken, author: Author, rotated_from: str | None
) -> Row | None:
    about = new.token_id, new.digest, clean(new.name), new.role, new.namespace, clean(author.name)
    return await session.fetchrow(QUERIES["create_token"], *about, new.lasts_s, rotated_from)


async def _end_of(session: Session, token_id: str | None) -> tuple[bool, datetime | None]:
    """Whether a session may rest on the token, which is locked, and when that ends; or on none."""
    token = None if token_id is None else await session.fetchrow(QUERIES["good_token"], token_id)
    return token_id is None or token is not None, None if token is None else token["expires_at"]


async def _write_session(
    session: Session,
    new: NewSession,
    until: datetime | None,
    rests_on: str | None,
    author: Author,
    asked_in: Namespace,
) -> SessionRecord:
    about = new.session_id, new.digest, clean(new.name), new.role, new.namespace, new.opened_with
    row = await session.fetchrow(QUERIES["open_session"], *about, new.lasts_s, until, rests_on)
    assert row is not None, "the id of a session is made by chance"
    record = to_session(row)
    change = Change(record.session_id, {}, logged_session(record))
    await log(session, logged_in(record.namespace, asked_in), author, Action.SESSION_OPEN, change)
    return record


async def _log_ends(
    session: Session, ended: Sequence[SessionRecord], author: Author, asked_in: Namespace
) -> None:
    for one in ended:
        change = Change(one.session_id, logged_session(one), {})
        await log(session, logged_in(one.namespace, asked_in), author, Action.SESSION_END, change)
