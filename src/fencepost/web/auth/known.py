"""Credentials that were looked up a moment ago.

A query to the store for every request would cost more than the request. So an answer of the store about a
credential is believed for a few seconds, in which a revocation is not seen yet; an unknown credential is
looked up again. The store's time goes on meanwhile by this process's own monotonic clock.

A few lookups run at a time, and callers that waited for a lookup of the same credential share its answer:
many callers at once, with good credentials or with bad ones, must not take all connections of the store. A
lookup does not wait as long for the store as a page would: a scraper soon gives up.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from fencepost.clock import Clock
from fencepost.core.access import SessionTerms, is_good, is_worth_noting
from fencepost.errors import StoreUnavailable
from fencepost.model.access import Credential, CredentialKind, Found, SessionRecord, TokenRecord
from fencepost.model.clocks import Monotonic, StoreTime, elapsed_s, later
from fencepost.ports.access import AccessRecords

BELIEVED_S = 3.0
KNOWN_MAX = 10_000
LOOKING_MAX = 2
LOOK_WITHIN_S = 4.0

Record = TokenRecord | SessionRecord


@dataclass(slots=True)
class Looked:
    """The store's answer, and when it was asked."""

    record: Record
    digest: str
    said_at: StoreTime
    asked_at: Monotonic


class Known:
    """Tokens and sessions by id."""

    def __init__(
        self, book: AccessRecords, clock: Clock, terms: SessionTerms, within_s: float = LOOK_WITHIN_S
    ) -> None:
        self._book = book
        self._clock = clock
        self._terms = terms
        self._within_s = within_s
        self._looked: OrderedDict[str, Looked] = OrderedDict()
        self._looking = asyncio.Semaphore(LOOKING_MAX)

    def remembers(self, shown: Credential) -> bool:
        """Whether this very credential was looked up before, by its secret too and not only by its id. The
        store may have ended it meanwhile."""
        looked = self._looked.get(shown.credential_id)
        return looked is not None and shown.fits(looked.digest)

    def is_fresh(self, credential_id: str) -> bool:
        """Whether it needs no look at the store."""
        looked = self._looked.get(credential_id)
        return looked is not None and self._age_s(looked) < BELIEVED_S

    async def look(self, credential_id: str) -> Looked | None:
        """What the store has under this id, as of a few seconds."""
        if self.is_fresh(credential_id):
            return self._looked[credential_id]
        try:
            async with asyncio.timeout(self._within_s), self._looking:
                return await self._look_now(credential_id)
        except TimeoutError:
            raise StoreUnavailable(f"no answer within {self._within_s:g} s") from None

    async def _look_now(self, credential_id: str) -> Looked | None:
        if self.is_fresh(credential_id):
            return self._looked[credential_id]
        self._looked.pop(credential_id, None)
        asked_at = self._clock.monotonic()
        found = await self._find(credential_id)
        return None if found is None else self._keep(found, asked_at)

    async def look_at(self, credential_ids: Sequence[str]) -> dict[str, Looked]:
        """The same of many: those for which the store has to be asked, at once."""
        looked = {one: self._looked[one] for one in credential_ids if self.is_fresh(one)}
        stale = [one for one in credential_ids if one not in looked]
        for one in stale:
            self._looked.pop(one, None)
        asked_at = self._clock.monotonic()
        for found in await self._book.find(stale) if stale else ():
            looked[id_of(found.record)] = self._keep(found, asked_at)
        return looked

    def is_good(self, looked: Looked) -> bool:
        """Whether the credential is good now."""
        return is_good(looked.record, self._now(looked), self._terms)

    async def note_use(self, looked: Looked) -> None:
        """Note in the store that it was used, unless that was noted lately. It is good without that, too."""
        record, now = looked.record, self._now(looked)
        if is_worth_noting(record.last_used_at, now):
            looked.record = replace(record, last_used_at=now)
            with suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(self._within_s):
                    await self._book.note_use(id_of(record))

    def forget(self, credential_id: str) -> None:
        """Ask the store the next time."""
        self._looked.pop(credential_id, None)

    def _keep(self, found: Found[TokenRecord] | Found[SessionRecord], asked_at: Monotonic) -> Looked:
        looked = Looked(found.record, found.digest, found.now, asked_at)
        self._looked[id_of(found.record)] = looked
        while len(self._looked) > KNOWN_MAX:
            self._looked.popitem(last=False)
        return looked

    def _now(self, looked: Looked) -> StoreTime:
        return later(looked.said_at, self._age_s(looked))

    def _age_s(self, looked: Looked) -> float:
        return elapsed_s(looked.asked_at, self._clock.monotonic())

    async def _find(self, credential_id: str) -> Found[TokenRecord] | Found[SessionRecord] | None:
        finders: dict[str, Callable[[str], Awaitable[Found[TokenRecord] | Found[SessionRecord] | None]]] = {
            CredentialKind.TOKEN: self._book.find_token,
            CredentialKind.SESSION: self._book.find_session,
        }
        find = finders.get(credential_id[:1])
        return None if find is None else await find(credential_id)


def id_of(record: Record) -> str:
    """The id of a token or a session."""
    return record.token_id if isinstance(record, TokenRecord) else record.session_id
