"""Credentials in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

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
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.stores.access_rows import logged_in, logged_link, logged_session, logged_token
from fencepost.stores.memory.access_tables import AccessRows, Kept
from fencepost.stores.memory.part import MemoryPart

Numbered = TypeVar("Numbered", TokenRecord, SessionRecord)


class MemoryAccess(MemoryPart):
    """See `ports.access`."""

    async def create_token(self, new: NewToken, *, author: Author, asked_in: Namespace) -> TokenRecord:
        if new.token_id not in self._rows.tokens:
            record = self._write_token(new, author, None)
            self._log(
                author, asked_in, Action.TOKEN_CREATE, record.token_id, record, {}, logged_token(record)
            )
        return self._rows.tokens[new.token_id].record

    async def tokens(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[TokenRecord]:
        return _page((one.record for one in self._rows.tokens.values()), namespace, before_number, limit)

    async def find_token(self, token_id: str) -> Found[TokenRecord] | None:
        row = self._rows.tokens.get(token_id)
        return None if row is None else Found(row.record, row.digest, self._tables.now())

    async def rotate_token(
        self, token_id: str, new: NewToken, overlap_s: float, *, author: Author, asked_in: Namespace
    ) -> TokenRecord | None:
        made = self._rows.tokens.get(new.token_id)
        if made is not None:
            return made.record
        row = self._rows.tokens.get(token_id)
        if row is None or not self._is_good(row.record) or self._successor(token_id):
            return None
        before = row.record
        until = later(self._tables.now(), overlap_s)
        row.record = replace(before, expires_at=min(until, before.expires_at or until))
        self._shorten_sessions(token_id, until)
        record = self._write_token(new, author, token_id)
        said = logged_token(before), logged_token(row.record, successor=new.token_id)
        self._log(author, asked_in, Action.TOKEN_ROTATE, token_id, before, *said)
        self._log(author, asked_in, Action.TOKEN_ROTATE, new.token_id, record, {}, logged_token(record))
        return record

    async def revoke_token(self, token_id: str, *, author: Author, asked_in: Namespace) -> TokenRecord | None:
        row = self._rows.tokens.get(token_id)
        if row is None:
            return None
        if row.record.revoked_at is None:
            before = row.record
            row.record = replace(before, revoked_at=self._tables.now())
            ended = self._end(one for one in self._live() if one.record.rests_on == token_id)
            said = logged_token(before), logged_token(before, sessions_ended=len(ended))
            self._log(author, asked_in, Action.TOKEN_REVOKE, token_id, before, *said)
        return row.record

    async def open_link(self, new: NewLink, *, author: Author, asked_in: Namespace) -> SignInLink:
        if new.link_id not in self._rows.links:
            now = self._tables.now()
            record = SignInLink(
                *(new.link_id, new.name, new.role, new.namespace, now, author.name),
                expires_at=later(now, new.lasts_s),
                rests_on=new.rests_on,
            )
            self._rows.links[new.link_id] = Kept(record, new.digest)
            self._log(author, asked_in, Action.LINK_OPEN, new.link_id, record, {}, logged_link(record))
        return self._rows.links[new.link_id].record

    async def find_link(self, link_id: str) -> Found[SignInLink] | None:
        row = self._rows.links.get(link_id)
        return None if row is None else Found(row.record, row.digest, self._tables.now())

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
        row = self._rows.links.get(link_id)
        if row is None:
            return None
        link = row.record
        if link.session_id is None and self._tables.now() < link.expires_at:
            until = self._until(lasts_s, link.rests_on if is_token_id(link.rests_on) else None)
            if until is None:
                return None
            row.record = replace(link, session_id=session_id)
            new = NewSession(session_id, digest, link.name, link.role, link.namespace, link_id, lasts_s)
            return self._write_session(new, until, link.rests_on, author, asked_in)
        mine = self._rows.sessions.get(session_id) if link.session_id == session_id else None
        return None if mine is None else mine.record

    async def open_session(
        self, new: NewSession, *, by_token: bool, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        if new.session_id in self._rows.sessions:
            return self._rows.sessions[new.session_id].record
        until = self._until(new.lasts_s, new.opened_with if by_token else None)
        return None if until is None else self._write_session(new, until, new.opened_with, author, asked_in)

    async def sessions(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[SessionRecord]:
        return _page((one.record for one in self._live()), namespace, before_number, limit)

    async def find_session(self, session_id: str) -> Found[SessionRecord] | None:
        row = self._rows.sessions.get(session_id)
        return None if row is None else Found(row.record, row.digest, self._tables.now())

    async def find(
        self, credential_ids: Sequence[str]
    ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
        found = [await self.find_token(one) or await self.find_session(one) for one in credential_ids]
        return [one for one in found if one is not None]

    async def end_session(
        self, session_id: str, *, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        row = self._rows.sessions.get(session_id)
        if row is None:
            return None
        if row.record.ended_at is None:
            self._log_ends(author, asked_in, self._end([row]))
        return row.record

    async def end_sessions(
        self, namespace: Namespace | None, *, rests_on: str | None, author: Author, asked_in: Namespace
    ) -> int:
        ended = self._end(
            one
            for one in self._live()
            if namespace in (None, one.record.namespace) and rests_on in (None, one.record.rests_on)
        )
        self._log_ends(author, asked_in, ended)
        return len(ended)

    async def note_use(self, credential_id: str) -> None:
        now = self._tables.now()
        if token := self._rows.tokens.get(credential_id):
            token.record = replace(token.record, last_used_at=max(now, token.record.last_used_at or now))
        if session := self._rows.sessions.get(credential_id):
            session.record = replace(session.record, last_used_at=max(now, session.record.last_used_at))

    async def sweep(self, kept_s: float, limit: int) -> int:
        border = self._tables.now() - timedelta(seconds=kept_s)
        tokens, sessions, links = self._rows.tokens, self._rows.sessions, self._rows.links
        gone = [
            [
                key
                for key, one in tokens.items()
                if _over(one.record.expires_at, one.record.revoked_at, border)
            ],
            [
                key
                for key, one in sessions.items()
                if _over(one.record.expires_at, one.record.ended_at, border)
            ],
            [key for key, one in links.items() if _over(one.record.expires_at, None, border)],
        ]
        over = [key for keys in gone for key in keys[:limit]]
        for key in over:
            tokens.pop(key, None)
            sessions.pop(key, None)
            links.pop(key, None)
        return len(over)

    @property
    def _rows(self) -> AccessRows:
        return self._tables.access

    def _is_good(self, record: TokenRecord) -> bool:
        now = self._tables.now()
        return record.revoked_at is None and (record.expires_at is None or now < record.expires_at)

    def _until(self, lasts_s: float, token_id: str | None) -> StoreTime | None:
        """Until when a session lasts, with its token at most; None where that is not good."""
        until = later(self._tables.now(), lasts_s)
        if token_id is None:
            return until
        token = self._rows.tokens.get(token_id)
        if token is None or not self._is_good(token.record):
            return None
        return min(until, token.record.expires_at or until)

    def _successor(self, token_id: str) -> bool:
        return any(one.record.rotated_from == token_id for one in self._rows.tokens.values())

    def _live(self) -> list[Kept[SessionRecord]]:
        now, rows = self._tables.now(), self._rows.sessions.values()
        return [one for one in rows if one.record.ended_at is None and now < one.record.expires_at]

    def _end(self, rows: Iterable[Kept[SessionRecord]]) -> list[SessionRecord]:
        ended = []
        for row in rows:
            row.record = replace(row.record, ended_at=self._tables.now())
            ended.append(row.record)
        return ended

    def _shorten_sessions(self, token_id: str, until: StoreTime) -> None:
        for row in self._rows.sessions.values():
            if row.record.rests_on == token_id:
                row.record = replace(row.record, expires_at=min(until, row.record.expires_at))

    def _write_token(self, new: NewToken, author: Author, rotated_from: str | None) -> TokenRecord:
        now = self._tables.now()
        record = TokenRecord(
            *(self._rows.next_number(), new.token_id, new.name, new.role, new.namespace, now, author.name),
            expires_at=None if new.lasts_s is None else later(now, new.lasts_s),
            rotated_from=rotated_from,
        )
        self._rows.tokens[new.token_id] = Kept(record, new.digest)
        return record

    def _write_session(
        self, new: NewSession, until: StoreTime, rests_on: str | None, author: Author, asked_in: Namespace
    ) -> SessionRecord:
        now = self._tables.now()
        record = SessionRecord(
            *(self._rows.next_number(), new.session_id, new.name, new.role, new.namespace),
            *(now, until, now, new.opened_with),
            rests_on=rests_on,
        )
        self._rows.sessions[new.session_id] = Kept(record, new.digest)
        after = logged_session(record)
        self._log(author, asked_in, Action.SESSION_OPEN, record.session_id, record, {}, after)
        return record

    def _log_ends(self, author: Author, asked_in: Namespace, ended: Iterable[SessionRecord]) -> None:
        for one in ended:
            self._log(author, asked_in, Action.SESSION_END, one.session_id, one, logged_session(one), {})

    def _log(
        self,
        author: Author,
        asked_in: Namespace,
        action: Action,
        subject: str,
        about: TokenRecord | SessionRecord | SignInLink,
        before: JsonObject,
        after: JsonObject,
    ) -> None:
        where = logged_in(about.namespace, asked_in)
        self._tables.log(author, where, action, subject, before, after)


def _page(
    records: Iterable[Numbered], namespace: Namespace | None, before_number: int | None, limit: int
) -> list[Numbered]:
    """The newest of a namespace, or of all."""
    mine = [one for one in records if namespace in (None, one.namespace)]
    older = [one for one in mine if before_number is None or one.number < before_number]
    return sorted(older, key=lambda one: -one.number)[:limit]


def _over(expires_at: datetime | None, ended_at: datetime | None, border: datetime) -> bool:
    """Whether it was over at the border already."""
    return any(moment is not None and moment <= border for moment in (expires_at, ended_at))
