"""Credentials: tokens, sessions and sign-in links.

The caller makes the random bytes of a credential and keeps the secret; the store gets its id and its digest.
The id is also the key of a repeated call: to make the same credential again changes nothing, and returns what
is there.

All time is the store's: callers give lengths of time, the store writes and reads moments. Nothing here
decides whether a credential is good; a lookup returns its record, its digest and the time, and `core.access`
decides.
There are three exceptions, which must be decided within the transaction. A link is redeemed only while it is
fresh and the token that it rests on is good. A session is opened with a token only while that is good. A
token is rotated only while it is good. Here a token is good while it is neither revoked nor past its
`expires_at`.

A session rests on the token that it was opened with, or that its link rests on, and does not last beyond it.
What ends a token ends the sessions that rest on it in the same transaction. Those of a revoked token are over
at once; those of a rotated one live no longer than it does. A session that rests on anything else than a
token is not compared with anything here.

Every change by an author leaves an entry in the audit log, in the namespace that the credential is for. For a
credential that is good everywhere, the entry is in the namespace `asked_in`, where the author acted. No entry
and no record holds a secret or a digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fencepost.model.access import (
    Found,
    NewLink,
    NewSession,
    NewToken,
    SessionRecord,
    SignInLink,
    TokenRecord,
)
from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace


class AccessRecords(Protocol):
    """The credentials of a store."""

    async def create_token(self, new: NewToken, *, author: Author, asked_in: Namespace) -> TokenRecord:
        """Write a token."""
        ...

    async def tokens(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[TokenRecord]:
        """Tokens of a namespace, or all there are, newest first; `before_number` goes on from a page."""
        ...

    async def find_token(self, token_id: str) -> Found[TokenRecord] | None:
        """The token of that id, with its digest and the store's time."""
        ...

    async def rotate_token(
        self, token_id: str, new: NewToken, overlap_s: float, *, author: Author, asked_in: Namespace
    ) -> TokenRecord | None:
        """Write a token in the place of another, which stays good for `overlap_s` at most.

        None, and nothing is changed, where that other token is not there, is not good, or has been rotated
        into a third. The sessions of the old token expire with it.
        """
        ...

    async def revoke_token(self, token_id: str, *, author: Author, asked_in: Namespace) -> TokenRecord | None:
        """End a token and its sessions at once; None where there is none. A revoked one stays as it is."""
        ...

    async def open_link(self, new: NewLink, *, author: Author, asked_in: Namespace) -> SignInLink:
        """Write a sign-in link."""
        ...

    async def find_link(self, link_id: str) -> Found[SignInLink] | None:
        """The link of that id, with its digest and the store's time."""
        ...

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
        """Open a session of this id with a link, which has its name, role and namespace.

        Of any number of calls one wins, and a link is never redeemed twice. None where the link is not there,
        has expired, has become another session, or rests on a token that is not good.
        """
        ...

    async def open_session(
        self, new: NewSession, *, by_token: bool, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        """Open a session that rests on `opened_with`; `by_token` where that is a token.

        None where that token is not good.
        """
        ...

    async def sessions(
        self, namespace: Namespace | None, *, before_number: int | None = None, limit: int
    ) -> Sequence[SessionRecord]:
        """Sessions of a namespace, or all, that have not ended or expired, newest first."""
        ...

    async def find_session(self, session_id: str) -> Found[SessionRecord] | None:
        """The session of that id, with its digest and the store's time."""
        ...

    async def end_session(
        self, session_id: str, *, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        """End a session; None where there is none. One that has ended stays as it is."""
        ...

    async def end_sessions(
        self, namespace: Namespace | None, *, rests_on: str | None, author: Author, asked_in: Namespace
    ) -> int:
        """End the sessions of a namespace, or all; or only those that rest on `rests_on`. Returns how
        many."""
        ...

    async def find(
        self, credential_ids: Sequence[str]
    ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
        """The tokens and sessions of these ids that are there, as `find_token` and `find_session` return
        them."""
        ...

    async def note_use(self, credential_id: str) -> None:
        """Note that a token or a session was used now. No entry is left, and a moment never goes back."""
        ...

    async def sweep(self, kept_s: float, limit: int) -> int:
        """Remove credentials that have been over for `kept_s`, up to `limit` of each kind; returns how
        many."""
        ...
