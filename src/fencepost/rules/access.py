"""Credentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from fencepost.model.clocks import later
from fencepost.model.identifiers import Namespace
from fencepost.model.table import Row
from fencepost.model.tables import (
    LINKS,
    LINKS_EXPIRING,
    SESSIONS,
    SESSIONS_BY_BASIS,
    SESSIONS_BY_NAMESPACE,
    SESSIONS_BY_NUMBER,
    SESSIONS_ENDED,
    SESSIONS_EXPIRING,
    TOKENS,
    TOKENS_BY_NAMESPACE,
    TOKENS_BY_NUMBER,
    TOKENS_BY_ORIGIN,
    TOKENS_EXPIRING,
    TOKENS_REVOKED,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.credentials import (
    end_sessions,
    first,
    found,
    is_good,
    lives,
    log_credential,
    log_ends,
    logged,
    new_token,
    put_once,
    session_until,
    shorten_sessions,
    to_link,
    to_session,
    to_token,
    write_session,
)
from fencepost.rules.part import Part, older, reads, search, writes
from fencepost.rules.rows import columns_of


class AccessRules(Part):
    """See `ports.access`."""

    @writes
    async def create_token(
        self, tx: Transaction, new: NewToken, *, author: Author, asked_in: Namespace
    ) -> TokenRecord:
        token = new_token(new, author, None, await tx.now())
        return await put_once(tx, TOKENS, to_token, token, author, asked_in, Action.TOKEN_CREATE)

    @reads
    async def tokens(
        self,
        tx: Transaction,
        namespace: Namespace | None,
        *,
        before_number: int | None = None,
        limit: int,
    ) -> Sequence[TokenRecord]:
        of = TOKENS_BY_NUMBER() if namespace is None else TOKENS_BY_NAMESPACE(namespace)
        rows = await tx.find(older(of, before_number), limit=limit, reverse=True)
        return [to_token(row) for row in rows]

    @reads
    async def find_token(self, tx: Transaction, token_id: str) -> Found[TokenRecord] | None:
        row = await first(tx, TOKENS, token_id)
        return None if row is None else found(to_token, row, await tx.now())

    @writes
    async def rotate_token(
        self,
        tx: Transaction,
        token_id: str,
        new: NewToken,
        overlap_s: float,
        *,
        author: Author,
        asked_in: Namespace,
    ) -> TokenRecord | None:
        rows = await tx.lock(TOKENS.at(token_id))
        made = await first(tx, TOKENS, new.token_id)
        if made is not None:
            return to_token(made)
        now = await tx.now()
        if not rows or not is_good(rows[0], now) or await tx.find(TOKENS_BY_ORIGIN(token_id)):
            return None
        before, until = to_token(rows[0]), later(now, overlap_s)
        (after,) = await tx.change(
            TOKENS, [(rows[0], {"expires_at": min(until, rows[0]["expires_at"] or until)})]
        )
        await shorten_sessions(tx, token_id, until)
        said = logged(before), logged(to_token(after), successor=new.token_id)
        await log_credential(tx, author, asked_in, Action.TOKEN_ROTATE, before, *said)
        token = new_token(new, author, token_id, now)
        return await put_once(tx, TOKENS, to_token, token, author, asked_in, Action.TOKEN_ROTATE)

    @writes
    async def revoke_token(
        self, tx: Transaction, token_id: str, *, author: Author, asked_in: Namespace
    ) -> TokenRecord | None:
        rows = await tx.lock(TOKENS.at(token_id))
        if not rows:
            return None
        before, now = to_token(rows[0]), await tx.now()
        if before.revoked_at is not None:
            return before
        (after,) = await tx.change(TOKENS, [(rows[0], {"revoked_at": now})])
        ended = await end_sessions(
            tx, [row for row in await tx.lock(SESSIONS_BY_BASIS(token_id)) if lives(row, now)]
        )
        said = logged(before), logged(before, sessions_ended=len(ended))
        await log_credential(tx, author, asked_in, Action.TOKEN_REVOKE, before, *said)
        return to_token(after)

    @writes
    async def open_link(
        self, tx: Transaction, new: NewLink, *, author: Author, asked_in: Namespace
    ) -> SignInLink:
        now = await tx.now()
        made = {"created_at": now, "created_by": author.name, "expires_at": later(now, new.lasts_s)}
        link = {**columns_of(LINKS, new), **made}
        return await put_once(tx, LINKS, to_link, link, author, asked_in, Action.LINK_OPEN)

    @reads
    async def find_link(self, tx: Transaction, link_id: str) -> Found[SignInLink] | None:
        row = await first(tx, LINKS, link_id)
        return None if row is None else found(to_link, row, await tx.now())

    @writes
    async def redeem_link(
        self,
        tx: Transaction,
        link_id: str,
        session_id: str,
        digest: str,
        lasts_s: float,
        *,
        author: Author,
        asked_in: Namespace,
    ) -> SessionRecord | None:
        rows = await tx.lock(LINKS.at(link_id))
        if not rows:
            return None
        link = to_link(rows[0])
        if link.session_id is None and await tx.now() < link.expires_at:
            until = await session_until(tx, lasts_s, link.rests_on if is_token_id(link.rests_on) else None)
            if until is None:
                return None
            await tx.change(LINKS, [(rows[0], {"session_id": session_id})])
            new = NewSession(session_id, digest, link.name, link.role, link.namespace, link_id, lasts_s)
            return await write_session(tx, new, until, link.rests_on, author, asked_in)
        mine = await first(tx, SESSIONS, session_id) if link.session_id == session_id else None
        return None if mine is None else to_session(mine)

    @writes
    async def open_session(
        self, tx: Transaction, new: NewSession, *, by_token: bool, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        known = await first(tx, SESSIONS, new.session_id)
        if known is not None:
            return to_session(known)
        until = await session_until(tx, new.lasts_s, new.opened_with if by_token else None)
        if until is None:
            return None
        return await write_session(tx, new, until, new.opened_with, author, asked_in)

    @reads
    async def sessions(
        self,
        tx: Transaction,
        namespace: Namespace | None,
        *,
        before_number: int | None = None,
        limit: int,
    ) -> Sequence[SessionRecord]:
        now = await tx.now()
        of = SESSIONS_BY_NUMBER() if namespace is None else SESSIONS_BY_NAMESPACE(namespace)
        rows = await search(tx, older(of, before_number), lambda row: lives(row, now), limit, reverse=True)
        return [to_session(row) for row in rows]

    @reads
    async def find_session(self, tx: Transaction, session_id: str) -> Found[SessionRecord] | None:
        row = await first(tx, SESSIONS, session_id)
        return None if row is None else found(to_session, row, await tx.now())

    @reads
    async def find(
        self, tx: Transaction, credential_ids: Sequence[str]
    ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
        keys, now = [(one,) for one in credential_ids], await tx.now()
        tokens = await tx.find(TOKENS.among(keys))
        sessions = await tx.find(SESSIONS.among(keys))
        return [
            *(found(to_token, one, now) for one in tokens),
            *(found(to_session, one, now) for one in sessions),
        ]

    @writes
    async def end_session(
        self, tx: Transaction, session_id: str, *, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        rows = await tx.lock(SESSIONS.at(session_id))
        if not rows:
            return None
        if rows[0]["ended_at"] is not None:
            return to_session(rows[0])
        (ended,) = await end_sessions(tx, rows)
        await log_ends(tx, author, asked_in, [ended])
        return ended

    @writes
    async def end_sessions(
        self,
        tx: Transaction,
        namespace: Namespace | None,
        *,
        rests_on: str | None,
        author: Author,
        asked_in: Namespace,
    ) -> int:
        now = await tx.now()
        if rests_on is not None:
            of = SESSIONS_BY_BASIS(rests_on)
        else:
            of = SESSIONS_BY_NUMBER() if namespace is None else SESSIONS_BY_NAMESPACE(namespace)
        rows = [row for row in await tx.lock(of) if namespace in (None, row["namespace"]) and lives(row, now)]
        ended = await end_sessions(tx, sorted(rows, key=lambda row: row["number"]))
        await log_ends(tx, author, asked_in, ended)
        return len(ended)

    @writes
    async def note_use(self, tx: Transaction, credential_id: str) -> None:
        for table in (TOKENS, SESSIONS):
            rows = await tx.lock(table.at(credential_id))
            now = await tx.now()
            await tx.change(
                table, [(row, {"last_used_at": max(now, row["last_used_at"] or now)}) for row in rows]
            )

    @writes
    async def sweep(self, tx: Transaction, kept_s: float, limit: int) -> int:
        border = later(await tx.now(), -kept_s)
        gone = 0
        for table, ends in (
            (TOKENS, (TOKENS_EXPIRING, TOKENS_REVOKED)),
            (SESSIONS, (SESSIONS_EXPIRING, SESSIONS_ENDED)),
            (LINKS, (LINKS_EXPIRING,)),
        ):
            over: dict[Any, Row] = {}
            for end in ends:
                rows = await tx.take(end().through(border), limit=limit)
                over |= {table.key_of(row): row for row in rows}
            old = list(over.values())[:limit]
            await tx.delete(table, old)
            gone += len(old)
        return gone
