"""What the rules about credentials have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from fencepost.model.access import (
    EVERYWHERE,
    Found,
    NewSession,
    NewToken,
    SessionRecord,
    SignInLink,
    TokenRecord,
    is_person,
)
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.model.table import Row, Table
from fencepost.model.tables import SESSIONS, SESSIONS_BY_BASIS, TOKENS
from fencepost.model.times import to_utc_text
from fencepost.ports.rows import Transaction
from fencepost.rules.audit_log import log
from fencepost.rules.rows import Row as AnyRow
from fencepost.rules.rows import columns_of, reader

R = TypeVar("R", TokenRecord, SessionRecord, SignInLink)
Credential: TypeAlias = TokenRecord | SessionRecord | SignInLink

to_token = reader(TokenRecord)
to_session = reader(SessionRecord)
to_link = reader(SignInLink)


def found(to_record: Callable[[AnyRow], R], row: Row, now: StoreTime) -> Found[R]:
    """A credential with its digest."""
    return Found(to_record(row), row["digest"], now)


async def first(tx: Transaction, table: Table, key: str) -> Row | None:
    rows = await tx.find(table.at(key))
    return rows[0] if rows else None


def new_token(new: NewToken, author: Author, rotated_from: str | None, now: StoreTime) -> Row:
    return {
        **columns_of(TOKENS, new),
        "created_at": now,
        "created_by": author.name,
        "expires_at": None if new.lasts_s is None else later(now, new.lasts_s),
        "rotated_from": rotated_from,
    }


async def write_session(
    tx: Transaction,
    new: NewSession,
    until: StoreTime,
    rests_on: str | None,
    author: Author,
    asked_in: Namespace,
) -> SessionRecord:
    now = await tx.now()
    times = {"created_at": now, "expires_at": until, "last_used_at": now}
    session = {**columns_of(SESSIONS, new), "rests_on": rests_on, **times}
    return await put_once(tx, SESSIONS, to_session, session, author, asked_in, Action.SESSION_OPEN)


async def put_once(
    tx: Transaction,
    table: Table,
    to_record: Callable[[AnyRow], R],
    new: Row,
    author: Author,
    asked_in: Namespace,
    action: Action,
) -> R:
    """Write a credential and the entry about it; where the call is a repetition, return the existing one."""
    written = await tx.put_if_absent(table, [new])
    (row,) = written or await tx.find(table.at(*table.key_of(new)))
    record = to_record(row)
    if written:
        await log_credential(tx, author, asked_in, action, record, {}, logged(record))
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
        await log_credential(tx, author, asked_in, Action.SESSION_END, one, logged(one), {})


async def log_credential(
    tx: Transaction,
    author: Author,
    asked_in: Namespace,
    action: Action,
    about: Credential,
    before: JsonObject,
    after: JsonObject,
) -> None:
    """A credential that is good everywhere is logged in the namespace where it was asked for."""
    where = asked_in if about.namespace == EVERYWHERE else about.namespace
    await log(tx, author, where, action, _id_of(about), before, after)


def _id_of(record: Credential) -> str:
    match record:
        case TokenRecord():
            return record.token_id
        case SessionRecord():
            return record.session_id
        case SignInLink():
            return record.link_id


def is_good(token: Row, now: StoreTime) -> bool:
    return token["revoked_at"] is None and (token["expires_at"] is None or now < token["expires_at"])


def lives(session: Row, now: StoreTime) -> bool:
    return session["ended_at"] is None and bool(now < session["expires_at"])


def logged(record: Credential, **more: str | int | None) -> JsonObject:
    """What the audit log keeps of a credential, which is never a digest."""
    expires_at = None if record.expires_at is None else to_utc_text(record.expires_at)
    about: JsonObject = {"name": record.name, "role": str(record.role), "namespace": record.namespace}
    if isinstance(record, SessionRecord):
        # The mark of a setting is made of its secret.
        opened_with = record.opened_with
        about["opened_with"] = opened_with if is_person(opened_with) else opened_with.partition("-")[0]
    return {**about, "expires_at": expires_at, **more}
