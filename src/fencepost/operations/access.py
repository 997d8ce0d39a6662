"""The verbs of credentials: who is asking, tokens, sign-in links and sessions.

An admin of one namespace sees and makes what is good there; `credentials.py` holds that. The secret
of what is made is in one answer, which is never kept to be repeated.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.core.access import SessionTerms
from fencepost.model.access import CREDENTIAL_LENGTH_MAX, EVERYWHERE, Role
from fencepost.model.identifiers import NAME_LENGTH_MAX
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.operations.credentials import LIFETIME_MAX_S, LINK_LASTS_MAX_S, LINK_LASTS_S, OVERLAP_MAX_S
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, cut, encode_cursor, number_behind
from fencepost.operations.responses.access import (
    MadeLink,
    MadeToken,
    SessionPage,
    SessionResponse,
    TokenPage,
    TokenResponse,
    WhoAmI,
    made_link,
    made_token,
    session_response,
    token_response,
)
from fencepost.operations.words import Seconds

Where = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=NAME_LENGTH_MAX,
        pattern=r"^(\*|[A-Za-z0-9_][A-Za-z0-9_.:/-]*)$(?!\n)",
        description="The namespace that it is good in; `*`: everywhere. Your own unless given.",
        examples=["billing"],
    ),
]
Label = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX, examples=["ci"])]
CredentialId = Annotated[
    str, Meta(min_length=1, max_length=CREDENTIAL_LENGTH_MAX, examples=["t3f9c2a1b8d7e6f50"])
]


class WhoAmIRequest(Request, frozen=True, kw_only=True):
    """Nothing."""


class ListTokensRequest(Request, frozen=True, kw_only=True):
    """Which tokens to list."""

    namespace: Annotated[Where, Meta(description="Only those that are good in it.")] | None = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class CreateTokenRequest(ChangeRequest, frozen=True, kw_only=True):
    """What a new token is to be good for."""

    name: Label
    role: Annotated[Role, Meta(description="What it may do.")]
    namespace: Where | None = None
    lasts_s: (
        Annotated[
            Seconds,
            Meta(gt=0, le=LIFETIME_MAX_S, description="For how long it is good; for good unless given."),
        ]
        | None
    ) = None


class RotateTokenRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which token gets a successor, and how long it stays good beside it."""

    token_id: CredentialId
    overlap_s: Annotated[
        Seconds,
        Meta(
            ge=0,
            le=OVERLAP_MAX_S,
            description="For how long the old one stays good; not at all unless given.",
        ),
    ] = 0.0


class RevokeTokenRequest(ChangeRequest, frozen=True, kw_only=True):
    """One token, by its id."""

    token_id: CredentialId


class OpenLinkRequest(ChangeRequest, frozen=True, kw_only=True):
    """What whoever uses the link may do."""

    role: Annotated[Role, Meta(description="What it may do.")] = Role.ADMIN
    namespace: Where | None = None
    lasts_s: Annotated[
        Seconds, Meta(gt=0, le=LINK_LASTS_MAX_S, description="How long the link can be used.")
    ] = LINK_LASTS_S


class ListSessionsRequest(Request, frozen=True, kw_only=True):
    """Which part of the list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class EndSessionRequest(ChangeRequest, frozen=True, kw_only=True):
    """One session, by its id."""

    session_id: CredentialId


@operation("whoami.show", "GET /whoami", Role.VIEWER)
async def show_whoami(control: Control, request: WhoAmIRequest) -> WhoAmI:
    """Show as whom a server knows you, and what you may do there.

    Where you open the store itself you may do anything."""
    who = control.principal
    if who is None:
        return WhoAmI(
            name=control.author.name, role=Role.ADMIN, namespace=EVERYWHERE, came=None, credential_id=None
        )
    return WhoAmI(
        name=who.name, role=who.role, namespace=who.namespace, came=who.came, credential_id=who.credential_id
    )


@operation("tokens.list", "GET /tokens", Role.ADMIN)
async def list_tokens(control: Control, request: ListTokensRequest) -> TokenPage:
    """List tokens, newest first; never what they are, only their ids."""
    found = await credentials.tokens(
        control, request.namespace, number_behind(request.after), request.limit + 1
    )
    page, last = cut(found, request.limit)
    now = await control.store.now()
    following = None if last is None else encode_cursor(last.number)
    return TokenPage(items=[token_response(one, now) for one in page], next=following)


@operation(
    "tokens.create",
    "POST /tokens",
    Role.ADMIN,
    secret=True,
    example={"name": "ci", "role": "operator", "lasts_s": 7776000.0},
)
async def create_token(control: Control, request: CreateTokenRequest) -> MadeToken:
    """Make a token. The answer has it; it cannot be shown again."""
    return made_token(
        await credentials.create(control, request.name, request.role, request.namespace, request.lasts_s)
    )


@operation(
    "tokens.rotate", "POST /tokens/{token_id}/rotate", Role.ADMIN, secret=True, example={"overlap_s": 3600.0}
)
async def rotate_token(control: Control, request: RotateTokenRequest) -> MadeToken:
    """Put a new token in the place of one, with the same name, role and namespace."""
    return made_token(await credentials.rotate(control, request.token_id, request.overlap_s))


@operation("tokens.revoke", "DELETE /tokens/{token_id}", Role.ADMIN)
async def revoke_token(control: Control, request: RevokeTokenRequest) -> TokenResponse:
    """End a token. Whoever signed in with it is signed out, and open streams end within seconds."""
    record = await credentials.revoke(control, request.token_id)
    return token_response(record, await control.store.now())


@operation("links.open", "POST /links", Role.ADMIN, secret=True, example={"role": "viewer"})
async def open_link(control: Control, request: OpenLinkRequest) -> MadeLink:
    """Make a link that signs one browser in, once. The answer has it, and it is not shown again."""
    return made_link(await credentials.open_link(control, request.role, request.namespace, request.lasts_s))


@operation("sessions.list", "GET /sessions", Role.ADMIN)
async def list_sessions(control: Control, request: ListSessionsRequest) -> SessionPage:
    """List who is signed in, newest first."""
    terms = SessionTerms(control.settings.session_lasts_s, control.settings.session_idle_s)
    found = await credentials.sessions(control, terms, number_behind(request.after), request.limit + 1)
    page, last = cut(found, request.limit)
    following = None if last is None else encode_cursor(last.number)
    return SessionPage(items=[session_response(one) for one in page], next=following)


@operation("sessions.end", "DELETE /sessions/{session_id}", Role.ADMIN)
async def end_session(control: Control, request: EndSessionRequest) -> SessionResponse:
    """Sign somebody out."""
    return session_response(await credentials.end_session(control, request.session_id))
