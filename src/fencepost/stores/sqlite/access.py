"""Credentials in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

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
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.stores.access_rows import (
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
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.moments import ALWAYS_US, fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "access.sql")


class SqliteAccess:
    """See `ports.access`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create_token(self, new: NewToken, *, author: Author, asked_in: Namespace) -> TokenRecord:
        return await self._database.transact(partial(_create_token, new, author, asked_in))

    async def tokens(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[TokenRecord]:
        def work(connection: apsw.Connection, _: StoreTime) -> list[TokenRecord]:
            rows = _rows(connection, "tokens", **_page(namespace, before_number, limit))
            return [to_token(row) for row in rows]

        return await self._database.read(work)

    async def find_token(self, token_id: str) -> Found[TokenRecord] | None:
        def work(connection: apsw.Connection, now: StoreTime) -> Found[TokenRecord] | None:
            row = _row(connection, "get_token", id=token_id)
            return None if row is None else to_found_token(row, now)

        return await self._database.read(work)

    async def rotate_token(
        self, token_id: str, new: NewToken, overlap_s: float, *, author: Author, asked_in: Namespace
    ) -> TokenRecord | None:
        return await self._database.transact(partial(_rotate, token_id, new, overlap_s, author, asked_in))

    async def revoke_token(self, token_id: str, *, author: Author, asked_in: Namespace) -> TokenRecord | None:
        return await self._database.transact(partial(_revoke, token_id, author, asked_in))

    async def open_link(self, new: NewLink, *, author: Author, asked_in: Namespace) -> SignInLink:
        return await self._database.transact(partial(_open_link, new, author, asked_in))

    async def find_link(self, link_id: str) -> Found[SignInLink] | None:
        def work(connection: apsw.Connection, now: StoreTime) -> Found[SignInLink] | None:
            row = _row(connection, "get_link", id=link_id)
            return None if row is None else to_found_link(row, now)

        return await self._database.read(work)

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
        work = partial(_redeem, link_id, session_id, digest, lasts_s, author, asked_in)
        return await self._database.transact(work)

    async def open_session(
        self, new: NewSession, *, by_token: bool, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        return await self._database.transact(partial(_open_session, new, by_token, author, asked_in))

    async def sessions(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[SessionRecord]:
        def work(connection: apsw.Connection, now: StoreTime) -> list[SessionRecord]:
            terms = _page(namespace, before_number, limit)
            return [to_session(row) for row in _rows(connection, "sessions", now=to_us(now), **terms)]

        return await self._database.read(work)

    async def find_session(self, session_id: str) -> Found[SessionRecord] | None:
        def work(connection: apsw.Connection, now: StoreTime) -> Found[SessionRecord] | None:
            row = _row(connection, "get_session", id=session_id)
            return None if row is None else to_found_session(row, now)

        return await self._database.read(work)

    async def find(
        self, credential_ids: Sequence[str]
    ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
        def work(
            connection: apsw.Connection, now: StoreTime
        ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
            ids = json.dumps(list(credential_ids))
            return [
                *(to_found_token(row, now) for row in _rows(connection, "get_tokens", ids=ids)),
                *(to_found_session(row, now) for row in _rows(connection, "get_sessions", ids=ids)),
            ]

        return await self._database.read(work)

    async def end_session(
        self, session_id: str, *, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        def work(connection: apsw.Connection, now: StoreTime) -> SessionRecord | None:
            ended = _rows(connection, "end_session", id=session_id, now=to_us(now))
            row = _row(connection, "get_session", id=session_id)
            if ended and row is not None:
                _note_end(connection, now, to_session(row), author, asked_in)
            return None if row is None else to_session(row)

        return await self._database.transact(work)

    async def end_sessions(
        self, namespace: Namespace | None, *, rests_on: str | None, author: Author, asked_in: Namespace
    ) -> int:
        def work(connection: apsw.Connection, now: StoreTime) -> int:
            ended = _end_sessions(connection, now, namespace, rests_on)
            for one in ended:
                _note_end(connection, now, one, author, asked_in)
            return len(ended)

        return await self._database.transact(work)

    async def note_use(self, credential_id: str) -> None:
        def work(connection: apsw.Connection, now: StoreTime) -> None:
            for query in ("note_use_of_token", "note_use_of_session"):
                connection.execute(QUERIES[query], {"id": credential_id, "now": to_us(now)})

        await self._database.transact(work)

    async def sweep(self, kept_s: float, limit: int) -> int:
        def work(connection: apsw.Connection, now: StoreTime) -> int:
            terms = {"border": to_us(now) - span_us(kept_s), "limit": limit}
            every = ("sweep_tokens", "sweep_sessions", "sweep_links")
            return sum(len(_rows(connection, query, **terms)) for query in every)

        return await self._database.transact(work)


def _create_token(
    new: NewToken, author: Author, asked_in: Namespace, connection: apsw.Connection, now: StoreTime
) -> TokenRecord:
    made = _write_token(connection, now, new, author, None)
    record = _token(connection, new.token_id)
    if made:
        where = logged_in(record.namespace, asked_in)
        note(connection, now, where, author, Action.TOKEN_CREATE, record.token_id, {}, logged_token(record))
    return record


def _rotate(
    token_id: str,
    new: NewToken,
    overlap_s: float,
    author: Author,
    asked_in: Namespace,
    connection: apsw.Connection,
    now: StoreTime,
) -> TokenRecord | None:
    made = _row(connection, "get_token", id=new.token_id)
    if made is not None:
        return to_token(made)
    row = _row(connection, "good_token", id=token_id, now=to_us(now))
    if row is None or _rows(connection, "successor", id=token_id):
        return None
    terms = {"id": token_id, "until": to_us(now) + span_us(overlap_s)}
    connection.execute(QUERIES["shorten_token"], terms)
    connection.execute(QUERIES["shorten_sessions"], terms)
    _write_token(connection, now, new, author, token_id)
    before, after, record = to_token(row), _token(connection, token_id), _token(connection, new.token_id)
    said = logged_token(before), logged_token(after, successor=new.token_id)
    where = logged_in(before.namespace, asked_in)
    note(connection, now, where, author, Action.TOKEN_ROTATE, token_id, *said)
    where = logged_in(record.namespace, asked_in)
    note(connection, now, where, author, Action.TOKEN_ROTATE, new.token_id, {}, logged_token(record))
    return record


def _revoke(
    token_id: str, author: Author, asked_in: Namespace, connection: apsw.Connection, now: StoreTime
) -> TokenRecord | None:
    row = _row(connection, "get_token", id=token_id)
    if row is None:
        return None
    before = to_token(row)
    if before.revoked_at is None:
        connection.execute(QUERIES["revoke_token"], {"id": token_id, "now": to_us(now)})
        ended = _end_sessions(connection, now, None, token_id)
        said = logged_token(before), logged_token(before, sessions_ended=len(ended))
        where = logged_in(before.namespace, asked_in)
        note(connection, now, where, author, Action.TOKEN_REVOKE, token_id, *said)
    return _token(connection, token_id)


def _open_link(
    new: NewLink, author: Author, asked_in: Namespace, connection: apsw.Connection, now: StoreTime
) -> SignInLink:
    about = {"name": new.name, "role": new.role, "namespace": new.namespace, "author": author.name}
    times = {"now": to_us(now), "expires_at": to_us(now) + span_us(new.lasts_s), "rests_on": new.rests_on}
    made = _rows(connection, "open_link", link_id=new.link_id, digest=new.digest, **about, **times)
    row = _row(connection, "get_link", id=new.link_id)
    assert row is not None
    record = to_link(row)
    if made:
        where = logged_in(record.namespace, asked_in)
        note(connection, now, where, author, Action.LINK_OPEN, new.link_id, {}, logged_link(record))
    return record


def _redeem(
    link_id: str,
    session_id: str,
    digest: str,
    lasts_s: float,
    author: Author,
    asked_in: Namespace,
    connection: apsw.Connection,
    now: StoreTime,
) -> SessionRecord | None:
    row = _row(connection, "get_link", id=link_id)
    if row is None:
        return None
    link = to_link(row)
    if link.session_id is not None:
        mine = _row(connection, "get_session", id=session_id) if link.session_id == session_id else None
        return None if mine is None else to_session(mine)
    until_us = _until_us(connection, now, lasts_s, link.rests_on if is_token_id(link.rests_on) else None)
    if until_us is None:
        return None
    if not _rows(connection, "redeem_link", id=link_id, session_id=session_id, now=to_us(now)):
        return None
    new = NewSession(session_id, digest, link.name, link.role, link.namespace, link_id, lasts_s)
    return _write_session(connection, now, new, until_us, link.rests_on, author, asked_in)


def _open_session(
    new: NewSession,
    by_token: bool,
    author: Author,
    asked_in: Namespace,
    connection: apsw.Connection,
    now: StoreTime,
) -> SessionRecord | None:
    mine = _row(connection, "get_session", id=new.session_id)
    if mine is not None:
        return to_session(mine)
    until_us = _until_us(connection, now, new.lasts_s, new.opened_with if by_token else None)
    if until_us is None:
        return None
    return _write_session(connection, now, new, until_us, new.opened_with, author, asked_in)


def _until_us(
    connection: apsw.Connection, now: StoreTime, lasts_s: float, token_id: str | None
) -> int | None:
    """Until when a session lasts, with its token at most; None where that is not good."""
    until_us = to_us(now) + span_us(lasts_s)
    if token_id is None:
        return until_us
    token = _row(connection, "good_token", id=token_id, now=to_us(now))
    if token is None:
        return None
    return until_us if token["expires_at"] is None else min(until_us, to_us(token["expires_at"]))


def _write_token(
    connection: apsw.Connection, now: StoreTime, new: NewToken, author: Author, rotated_from: str | None
) -> bool:
    expires_at = None if new.lasts_s is None else to_us(now) + span_us(new.lasts_s)
    about = {"name": new.name, "role": new.role, "namespace": new.namespace, "author": author.name}
    times = {"now": to_us(now), "expires_at": expires_at, "rotated_from": rotated_from}
    return bool(_rows(connection, "create_token", token_id=new.token_id, digest=new.digest, **about, **times))


def _write_session(
    connection: apsw.Connection,
    now: StoreTime,
    new: NewSession,
    until_us: int,
    rests_on: str | None,
    author: Author,
    asked_in: Namespace,
) -> SessionRecord:
    about = {"name": new.name, "role": new.role, "namespace": new.namespace, "opened_with": new.opened_with}
    terms = {"session_id": new.session_id, "digest": new.digest, "now": to_us(now), "expires_at": until_us}
    connection.execute(QUERIES["open_session"], {**about, **terms, "rests_on": rests_on})
    row = _row(connection, "get_session", id=new.session_id)
    assert row is not None
    record = to_session(row)
    where = logged_in(record.namespace, asked_in)
    note(connection, now, where, author, Action.SESSION_OPEN, record.session_id, {}, logged_session(record))
    return record


def _end_sessions(
    connection: apsw.Connection, now: StoreTime, namespace: Namespace | None, rests_on: str | None
) -> list[SessionRecord]:
    terms = {"namespace": namespace, "rests_on": rests_on, "now": to_us(now)}
    return [to_session(row) for row in _rows(connection, "end_sessions", **terms)]


def _note_end(
    connection: apsw.Connection, now: StoreTime, ended: SessionRecord, author: Author, asked_in: Namespace
) -> None:
    where = logged_in(ended.namespace, asked_in)
    note(connection, now, where, author, Action.SESSION_END, ended.session_id, logged_session(ended), {})


def _token(connection: apsw.Connection, token_id: str) -> TokenRecord:
    row = _row(connection, "get_token", id=token_id)
    assert row is not None
    return to_token(row)


def _page(namespace: Namespace | None, before_number: int | None, limit: int) -> dict[str, Any]:
    before = ALWAYS_US if before_number is None else before_number
    return {"namespace": namespace, "before_number": before, "limit": limit}


def _rows(connection: apsw.Connection, query: str, **terms: Any) -> list[dict[str, Any]]:
    return fetch(connection.execute(QUERIES[query], terms))


def _row(connection: apsw.Connection, query: str, **terms: Any) -> dict[str, Any] | None:
    return next(iter(_rows(connection, query, **terms)), None)
