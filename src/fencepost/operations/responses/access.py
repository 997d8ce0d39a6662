"""Credentials. What lets somebody in is in the answer to whoever made one, and nowhere else."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.model.access import Came, Credential, Role, SessionRecord, SignInLink, TokenRecord
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment


@dataclass(frozen=True)
class MintedToken:
    """A token and its secret, which is shown once."""

    record: TokenRecord
    credential: Credential


@dataclass(frozen=True)
class MintedLink:
    """A sign-in link and its secret, which is shown once."""

    record: SignInLink
    credential: Credential


class WhoAmI(Struct, kw_only=True):
    """Whoever asks."""

    name: str
    role: Role
    namespace: Annotated[str, Meta(description="Where it may act; `*`: everywhere.", examples=["default"])]
    came: Annotated[Came | None, Meta(description="By what; null where the store itself was opened.")]
    credential_id: Annotated[str | None, Meta(examples=["t3f9c2a1b8d7e6f50"])]


class TokenResponse(Struct, kw_only=True):
    """A token, by its id."""

    token_id: Annotated[str, Meta(examples=["t3f9c2a1b8d7e6f50"])]
    name: str
    role: Role
    namespace: Annotated[str, Meta(description="Where it is good; `*`: everywhere.")]
    state: Annotated[str, Meta(description="`good`, `expired` or `revoked`.", examples=["good"])]
    created_at: Moment
    created_by: str
    expires_at: Moment | None
    last_used_at: Annotated[Moment | None, Meta(description="As of about a minute.")]
    revoked_at: Moment | None
    rotated_from: Annotated[str | None, Meta(description="The token in whose place this one came.")]


class TokenPage(Struct, kw_only=True):
    """Tokens, newest first."""

    items: list[TokenResponse]
    next: Next


class MadeToken(TokenResponse, kw_only=True):
    """A token with its secret."""

    token: Annotated[str, Meta(description="The token itself. It is not shown again.", examples=["fp_t…"])]

    def __repr__(self) -> str:
        return f"MadeToken({self.token_id!r})"


class MadeLink(Struct, kw_only=True):
    """A way in for one browser, once."""

    link_id: str
    link: Annotated[str, Meta(description="What to show at /sign-in. It is not shown again.")]
    name: str
    role: Role
    namespace: str
    expires_at: Moment

    def __repr__(self) -> str:
        return f"MadeLink({self.link_id!r})"


class SessionResponse(Struct, kw_only=True):
    """Somebody who signed in with a browser."""

    session_id: Annotated[str, Meta(examples=["s3f9c2a1b8d7e6f50"])]
    name: str
    role: Role
    namespace: str
    created_at: Moment
    expires_at: Moment
    last_used_at: Annotated[Moment, Meta(description="As of about a minute.")]
    opened_with: Annotated[
        str, Meta(description="The id of the token, or of the link, that was shown; or `setting`.")
    ]
    ended_at: Moment | None


class SessionPage(Struct, kw_only=True):
    """Who is signed in, newest first."""

    items: list[SessionResponse]
    next: Next


def token_fields(record: TokenRecord, now: StoreTime) -> dict[str, Any]:
    """A token, by the names of its shape."""
    return {
        "token_id": record.token_id,
        "name": record.name,
        "role": record.role,
        "namespace": record.namespace,
        "state": _state(record, now),
        "created_at": moment(record.created_at),
        "created_by": record.created_by,
        "expires_at": moment(record.expires_at),
        "last_used_at": moment(record.last_used_at),
        "revoked_at": moment(record.revoked_at),
        "rotated_from": record.rotated_from,
    }


def token_response(record: TokenRecord, now: StoreTime) -> TokenResponse:
    """A token."""
    return TokenResponse(**token_fields(record, now))


def made_token(made: MintedToken) -> MadeToken:
    """A token with its secret."""
    return MadeToken(token=made.credential.reveal(), **token_fields(made.record, made.record.created_at))


def made_link(made: MintedLink) -> MadeLink:
    """A link with its secret."""
    record = made.record
    return MadeLink(
        link_id=record.link_id,
        link=made.credential.reveal(),
        name=record.name,
        role=record.role,
        namespace=record.namespace,
        expires_at=moment(record.expires_at),
    )


def session_response(record: SessionRecord) -> SessionResponse:
    """A session."""
    return SessionResponse(
        session_id=record.session_id,
        name=record.name,
        role=record.role,
        namespace=record.namespace,
        created_at=moment(record.created_at),
        expires_at=moment(record.expires_at),
        last_used_at=moment(record.last_used_at),
        opened_with=record.opened_with.partition("-")[0],  # The mark of a setting is made of its secret.
        ended_at=moment(record.ended_at),
    )


def _state(record: TokenRecord, now: StoreTime) -> str:
    if record.revoked_at is not None:
        return "revoked"
    return "expired" if record.expires_at is not None and record.expires_at <= now else "good"
