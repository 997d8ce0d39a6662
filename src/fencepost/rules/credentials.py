"""What the rules about credentials do alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fencepost.model.access import (
    NewSession,
    NewToken,
    SessionRecord,
    SignInLink,
    TokenRecord,
)
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.model.table import Range, Row, Table
from fencepost.model.tables import (
    SESSIONS,
    SESSIONS_BY_BASIS,
    TOKENS,
)
from fencepost.ports.rows import Transaction
from fencepost.rules.access_rows import (
    logged_in,
    logged_session,
    to_session,
)
from fencepost.rules.audit_log import log


async def first(tx: Transaction, table: Table, key: str) -> Row | None:
    rows = await tx.find(table.at(key))
    return rows[0] if rows else None


async def put_token(tx: Transaction, new: NewToken, author: Author, rotated_from: str | None) -> Row | None:
    now = await tx.now()
    token = {
        "token_id": new.token_id,
        "digest": new.digest,
        "name": new.name,
        "role": str(new.role),
        "namespace": new.namespace,
        "created_at": now,
        "created_by": author.name,
        "expires_at": None if new.lasts_s is None else later(now, new.lasts_s),
        "rotated_from": rotated_from,
    }
    written = await tx.put_if_absent(TOKENS, [token])
    return written[0] if written else None


async def write_session(
    tx: Transaction,
    new: NewSession,
    until: StoreTime,
    rests_on: str | None,
    author: Author,
    asked_in: Namespace,
) -> SessionRecord:
    now = await tx.now()
    session = {
        "session_id": new.session_id,
        "digest": new.digest,
        "name": new.name,
        "role": str(new.role),
        "namespace": new.namespace,
        "opened_with": new.opened_with,
        "rests_on": rests_on,
        "created_at": now,
        "expires_at": until,
        "last_used_at": now,
    }
    written = await tx.put_if_absent(SESSIONS, [session])
    row = written[0] if written else await first(tx, SESSIONS, new.session_id)
    assert row is not None
    record = to_session(row)
    if written:
        after = logged_session(record)
        await log_credential(tx, author, asked_in, Action.SESSION_OPEN, record.session_id, record, {}, after)
    return record


async def session_until(tx: Transaction, lasts_s: float, token_id: str | None) -> StoreTime | None:
    """Until when a session lasts, with its token at most; None where that is not good."""
    tokens = [] if token_id is None else await tx.lock(TOKENS.at(token_id))
    now = await tx.now()
    until = later(now, lasts_s)
    if token_id is None:
        return until
    if not tokens or not is_good(tokens[0], now):
        return None
    return min(until, tokens[0]["expires_at"] or until)


async def shorten_sessions(tx: Transaction, token_id: str, until: StoreTime) -> None:
    sessions = await tx.lock(SESSIONS_BY_BASIS(token_id))
    await tx.change(SESSIONS, [(one, {"expires_at": min(until, one["expires_at"])}) for one in sessions])


async def end_sessions(tx: Transaction, sessions: Sequence[Row]) -> list[SessionRecord]:
    now = await tx.now()
    return [
        to_session(row) for row in await tx.change(SESSIONS, [(one, {"ended_at": now}) for one in sessions])
    ]


async def log_ends(
    tx: Transaction, author: Author, asked_in: Namespace, ended: Iterable[SessionRecord]
) -> None:
    for one in ended:
        await log_credential(
            tx, author, asked_in, Action.SESSION_END, one.session_id, one, logged_session(one), {}
        )


async def log_credential(
    tx: Transaction,
    author: Author,
    asked_in: Namespace,
    action: Action,
    subject: str,
    about: TokenRecord | SessionRecord | SignInLink,
    before: JsonObject,
    after: JsonObject,
) -> None:
    where = logged_in(about.namespace, asked_in)
    await log(tx, author, where, action, subject, before, after)


def older(numbered: Range, before_number: int | None) -> Range:
    return numbered if before_number is None else numbered.before(before_number)


def is_good(token: Row, now: StoreTime) -> bool:
    return token["revoked_at"] is None and (token["expires_at"] is None or now < token["expires_at"])


def lives(session: Row, now: StoreTime) -> bool:
    return session["ended_at"] is None and bool(now < session["expires_at"])


def number_of(session: Row) -> int:
    return int(session["number"])
