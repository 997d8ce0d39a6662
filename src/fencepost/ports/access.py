"""Credentials: tokens, sessions and sign-in links.

Whoever makes a credential throws the dice and keeps the secret; here come its id and its digest. The id is
also the key by which a repeated call is known: to make the same credential again changes nothing, and answers
with what is there.

All time is the store's: lengths of time are given, moments are written and read. Nothing here says whether a
credential is good; a look at one answers with its record, its digest and the time, and `core.access` says it.
The exceptions are the three that must not be decided before the transaction: a link is redeemed only while
it is fresh and the token that it rests on is good, a session is opened with a token only while that is good,
and so is a token rotated. A token is good, here, while it is neither revoked nor past its `expires_at`.

A session rests on the token that it was opened with, or that its link rests on, and does not last beyond it.
What ends a token ends the sessions that rest on it in the same transaction: those of a revoked token are over
at once, those of a rotated one live no longer than it does. What rests on anything else than a token is not
compared with anything here.

Every change by an author leaves an entry in the audit log, in the namespace that the credential is for; for
one that is good everywhere, in the namespace `asked_in`, where the author stood. No entry and no record holds
a secret or a digest.
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
    """Who may come in."""

    async def create_token(self, new: NewToken, *, author: Author, asked_in: Namespace) -> TokenRecord:
        """Write a token down."""
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
        """Write a token down in the place of another, which stays good for `overlap_s` at most.

        None, and nothing is changed, where that other is not there, is not good, or has been rotated into a
        third. The sessions of the old one expire with it.
        """
        ...

    async def revoke_token(self, token_id: str, *, author: Author, asked_in: Namespace) -> TokenRecord | None:
        """End a token and its sessions at once; None where there is none. A revoked one stays as it is."""
        ...

    async def open_link(self, new: NewLink, *, author: Author, asked_in: Namespace) -> SignInLink:
        """Write a sign-in link down."""
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

        Of any number of calls one wins, and a link is never redeemed twice. None where it is not there, has
        expired, has become another session, or rests on a token that is not good.
        """
        ...

    async def open_session(
        self, new: NewSession, *, by_token: bool, author: Author, asked_in: Namespace
    ) -> SessionRecord | None:
        """Open a session; `by_token` where `opened_with` is a token. It rests on that, whatever it is.

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
        """End the sessions of a namespace, or all; or only those that rest on that. How many there were."""
        ...

    async def find(
        self, credential_ids: Sequence[str]
    ) -> Sequence[Found[TokenRecord] | Found[SessionRecord]]:
        """Those tokens and sessions that are there, as `find_token` and `find_session` have them."""
        ...

    async def note_use(self, credential_id: str) -> None:
        """A token or a session was used now. No entry is left, and a moment never goes back."""
        ...

    async def sweep(self, kept_s: float, limit: int) -> int:
        """Remove credentials that have been over for `kept_s`, up to so many of each kind; how many."""
        ...
