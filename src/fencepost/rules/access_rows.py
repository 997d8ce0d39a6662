"""Rows of credentials as values of the model; see `rows` for what a row is.

Also what the audit log keeps of them, which is never a digest.
"""

from __future__ import annotations

import json

from fencepost.model.access import EVERYWHERE, Found, Role, SessionRecord, SignInLink, TokenRecord
from fencepost.model.answers import Answered
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace
from fencepost.model.json import JsonObject
from fencepost.model.times import to_utc_text
from fencepost.rules.rows import Row


def to_token(row: Row) -> TokenRecord:
    """A token."""
    return TokenRecord(
        number=row["number"],
        token_id=row["token_id"],
        name=row["name"],
        role=Role(row["role"]),
        namespace=row["namespace"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
        rotated_from=row["rotated_from"],
    )


def to_session(row: Row) -> SessionRecord:
    """A session."""
    return SessionRecord(
        number=row["number"],
        session_id=row["session_id"],
        name=row["name"],
        role=Role(row["role"]),
        namespace=row["namespace"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        opened_with=row["opened_with"],
        ended_at=row["ended_at"],
        rests_on=row["rests_on"],
    )


def to_link(row: Row) -> SignInLink:
    """A sign-in link."""
    return SignInLink(
        link_id=row["link_id"],
        name=row["name"],
        role=Role(row["role"]),
        namespace=row["namespace"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        expires_at=row["expires_at"],
        session_id=row["session_id"],
        rests_on=row["rests_on"],
    )


def to_found_token(row: Row, now: StoreTime) -> Found[TokenRecord]:
    """A token with its digest."""
    return Found(to_token(row), row["digest"], now)


def to_found_session(row: Row, now: StoreTime) -> Found[SessionRecord]:
    """A session with its digest."""
    return Found(to_session(row), row["digest"], now)


def to_found_link(row: Row, now: StoreTime) -> Found[SignInLink]:
    """A link with its digest."""
    return Found(to_link(row), row["digest"], now)


def to_answered(row: Row) -> Answered:
    """An answer that was kept."""
    return Answered(row["status"], bytes(row["body"]), json.loads(row["headers"]))


def logged_in(namespace: Namespace, asked_in: Namespace) -> Namespace:
    """In whose audit log a change of a credential of that namespace is written down."""
    return asked_in if namespace == EVERYWHERE else namespace


def logged_token(record: TokenRecord, **more: str | int | None) -> JsonObject:
    """What the audit log keeps of a token."""
    expires_at = None if record.expires_at is None else to_utc_text(record.expires_at)
    about: JsonObject = {"name": record.name, "role": str(record.role), "namespace": record.namespace}
    return {**about, "expires_at": expires_at, **more}


def logged_session(record: SessionRecord) -> JsonObject:
    """What the audit log keeps of a session."""
    about: JsonObject = {"name": record.name, "role": str(record.role), "namespace": record.namespace}
    opened_with = record.opened_with.partition("-")[0]  # The mark of a setting is made of its secret.
    return {**about, "opened_with": opened_with, "expires_at": to_utc_text(record.expires_at)}


def logged_link(record: SignInLink) -> JsonObject:
    """What the audit log keeps of a sign-in link."""
    about: JsonObject = {"name": record.name, "role": str(record.role), "namespace": record.namespace}
    return {**about, "expires_at": to_utc_text(record.expires_at)}
