"""The doorkeeper: authenticates callers, signs them in, and signs them out.

There are two ways in. A program shows a token with each request (`Authorization: Bearer`). A person shows a
token or a sign-in link once, and gets a session, which the browser shows as a cookie from then on. A request
that shows a token is judged by that alone, also if a cookie came with it.

A refusal has one text, whatever was wrong: a stranger learns nothing about which credentials there are. The
log has the id, never the secret. After too many wrong credentials an address is refused for a while.
Credentials that are known already are exempt, and so is the setting from an address that has shown it before;
so no caller can lock out others with the same address.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from litestar.types import HTTPScope, Scope

from fencepost.clock import Clock, SystemClock
from fencepost.config import Settings
from fencepost.core.access import SessionTerms
from fencepost.errors import StoreUnavailable
from fencepost.model.access import (
    EVERYWHERE,
    SETTING_ID,
    Came,
    Credential,
    CredentialKind,
    NewSession,
    Principal,
    Role,
    SessionRecord,
    accountable,
    digest_of,
    is_person,
    mint,
    read_credential,
)
from fencepost.model.audit import Author
from fencepost.model.dataclasses import dataclass
from fencepost.ports.store import Store
from fencepost.telemetry.logs import Log
from fencepost.telemetry.secrets import remember
from fencepost.web.auth.known import Known, Looked, id_of
from fencepost.web.auth.limits import Limiter, network_of
from fencepost.web.auth.people import Person
from fencepost.web.auth.reading import bearer, client_of, headers, session_cookie
from fencepost.web.auth.setting import checked_token, mark_of

SETTING = "setting"
FAILURES_PER_S = 1 / 6
FAILURES_BURST = 10
STRANGERS_PER_S = 50.0
STRANGERS_BURST = 500.0
"""The limit of one address without a credential. A probe asks every few seconds, a browser for a page and its
files."""
PROBES = frozenset({"/healthz", "/readyz"})
ADDRESSES_MAX = 1_000
CSRF = "csrf"


@dataclass(frozen=True)
class Admitted:
    """The request is admitted. `csrf` is the value that a form of this session has to carry."""

    principal: Principal
    csrf: str = ""


@dataclass(frozen=True)
class Refused:
    """The request is refused; before `wait_s` the next one is not even looked at."""

    wait_s: float = 0.0


class Doorkeeper:
    """Authentication by a store and its settings."""

    signs_in = True
    """Whether people sign in here, and not at an application that this one is mounted in."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Clock | None = None,
        dice: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.clock = clock = clock or SystemClock()
        self.settings = settings
        self.terms = SessionTerms(settings.session_lasts_s, settings.session_idle_s)
        self._book = store.access
        self._dice = dice
        self._log = Log("web.door")
        self._setting = digest_of(checked_token(settings.token)) if settings.token else ""
        self._setting_mark = mark_of(settings.token)
        self._provider = urlsplit(settings.oidc_issuer).netloc
        if settings.token:
            remember(settings.token)
        self._known = Known(store.access, clock, self.terms)
        self._requests = Limiter(clock, settings.requests_per_s, settings.requests_burst)
        self._failures = Limiter(clock, FAILURES_PER_S, FAILURES_BURST)
        self._strangers = Limiter(clock, STRANGERS_PER_S, STRANGERS_BURST)
        self._setting_from: OrderedDict[str, None] = OrderedDict()
        """Addresses that showed the token of the setting, the latest last."""

    async def admit(self, scope: Scope) -> Admitted | Refused:
        """Judge a request by the credential that it shows."""
        if headers(scope, b"authorization"):
            return await self._judge(bearer(scope), CredentialKind.TOKEN, client_of(scope))
        cookie = session_cookie(scope)
        return (
            Refused()
            if cookie is None
            else await self._judge(cookie, CredentialKind.SESSION, client_of(scope))
        )

    def may_ask(self, principal: Principal) -> float:
        """0 where the caller may ask now, else the seconds to wait."""
        return self._requests.take(principal.credential_id)

    def may_come(self, scope: HTTPScope) -> float:
        """The same for requests without a credential. Probes are counted apart: other requests from their
        address must not have them refused."""
        kind = "probe" if scope["path"] in PROBES else "other"
        return self._strangers.take(f"{kind} {network_of(client_of(scope))}")

    async def still_good(self, principal: Principal) -> bool:
        """Whether the credential of an admitted caller is still good, as of a few seconds, so that it can be
        asked often. False where the store does not answer."""
        if principal.came is Came.SETTING:
            return True
        try:
            looked = await self._known.look(principal.credential_id)
        except StoreUnavailable:
            return False
        return looked is not None and self._is_good(looked)

    async def still_good_of(self, principals: Sequence[Principal]) -> frozenset[str]:
        """The same for many, with one query to the store: the ids of the credentials that are still good."""
        setting = frozenset(one.credential_id for one in principals if one.came is Came.SETTING)
        try:
            looked = await self._known.look_at(
                [one.credential_id for one in principals if one.came is not Came.SETTING]
            )
        except StoreUnavailable:
            return setting
        return setting | {one for one, found in looked.items() if self._is_good(found)}

    async def sign_in(self, shown: str, client: str) -> Credential | Refused:
        """A new session for a token or a sign-in link, independent of any earlier session."""
        wait_s = self._failures.wait_s(network_of(client))
        if wait_s:
            return Refused(wait_s)
        session = mint(CredentialKind.SESSION, self._dice)
        opened = await self._open(shown.strip(), session, client)
        if opened is None:
            return self._refuse(read_credential(shown.strip()), client)
        self._log.info("signed in", name=opened.name, session=opened.session_id, client=client)
        return session

    async def sign_in_person(self, person: Person, client: str) -> Credential:
        """A new session for a person who has signed in at the provider."""
        session = mint(CredentialKind.SESSION, self._dice)
        about = person.name, person.role, person.namespace, person.known_by, self.terms.lasts_s
        opened = await self._book.open_session(
            NewSession(session.credential_id, session.digest, *about),
            by_token=False,
            author=Author(person.name, f"sign-in from {client}", credential=person.known_by),
            asked_in=self.settings.namespace,
        )
        assert opened is not None, "it rests on no token that could have ended"
        self._log.info("signed in", name=opened.name, session=opened.session_id, client=client)
        return session

    async def sign_out(self, principal: Principal, client: str) -> None:
        """End the session of the caller."""
        if principal.came is Came.SESSION:
            author = Author(principal.name, f"sign-out from {client}", credential=principal.audit_id)
            session_id = principal.credential_id
            await self._book.end_session(session_id, author=author, asked_in=self.settings.namespace)
            self._known.forget(session_id)
            self._log.info("signed out", name=principal.name, session=session_id, client=client)

    async def _judge(self, text: str, kind: CredentialKind, client: str) -> Admitted | Refused:
        wait_s = self._failures.wait_s(network_of(client))
        if (
            kind is CredentialKind.TOKEN
            and (not wait_s or client in self._setting_from)
            and self._is_setting(text)
        ):
            self._note_address(client)
            about = SETTING_ID, Role.ADMIN, EVERYWHERE, Came.SETTING, SETTING, self._setting_id()
            return Admitted(Principal(*about))
        shown = read_credential(text)
        if wait_s and (shown is None or not self._known.remembers(shown)):
            return Refused(wait_s)
        looked = await self._recognise(shown, kind)
        if looked is None:
            return self._refuse(shown, client)
        assert shown is not None
        await self._known.note_use(looked)
        record = looked.record
        came = Came.TOKEN if kind is CredentialKind.TOKEN else Came.SESSION
        rests_on = record.rests_on if isinstance(record, SessionRecord) else record.token_id
        principal = Principal(record.name, record.role, record.namespace, came, id_of(record), rests_on)
        return Admitted(principal, shown.derived(CSRF) if came is Came.SESSION else "")

    async def _recognise(self, shown: Credential | None, kind: CredentialKind) -> Looked | None:
        """The token or the session that was shown, where it is good."""
        if shown is None or shown.kind is not kind:
            return None
        looked = await self._known.look(shown.credential_id)
        if looked is None or not shown.fits(looked.digest):
            return None
        return looked if self._is_good(looked) else None

    def _is_good(self, looked: Looked) -> bool:
        record = looked.record
        if isinstance(record, SessionRecord) and self._is_of_another_basis(record.rests_on):
            return False
        return self._known.is_good(looked)

    def _is_setting(self, text: str) -> bool:
        return bool(self._setting) and hmac.compare_digest(digest_of(text), self._setting)

    def _note_address(self, client: str) -> None:
        self._setting_from[client] = None
        self._setting_from.move_to_end(client)
        if len(self._setting_from) > ADDRESSES_MAX:
            self._setting_from.popitem(last=False)

    def _is_of_another_basis(self, rests_on: str | None) -> bool:
        """Whether it rests on a setting or a provider that is not the one of this server."""
        if is_person(rests_on):
            return not self._provider or not rests_on.endswith(f"@{self._provider}")
        return self._is_of_another_setting(rests_on)

    def _is_of_another_setting(self, rests_on: str | None) -> bool:
        return rests_on is not None and rests_on.startswith(SETTING) and rests_on != self._setting_id()

    def _setting_id(self) -> str:
        """The id of the setting's token: sessions and links that rest on it end when the setting changes."""
        return f"{SETTING}-{self._setting_mark}"

    async def _open(self, text: str, session: Credential, client: str) -> SessionRecord | None:
        source = f"sign-in from {client}"
        if self._is_setting(text):
            about = SETTING_ID, Role.ADMIN, EVERYWHERE, self._setting_id(), self.terms.lasts_s
            new = NewSession(session.credential_id, session.digest, *about)
            return await self._book.open_session(
                new,
                by_token=False,
                author=Author(SETTING_ID, source, credential=SETTING_ID),
                asked_in=self.settings.namespace,
            )
        shown = read_credential(text)
        if shown is None:
            return None
        return await (self._redeem if shown.kind is CredentialKind.LINK else self._exchange)(
            shown, session, source
        )

    async def _redeem(self, shown: Credential, session: Credential, source: str) -> SessionRecord | None:
        found = await self._book.find_link(shown.credential_id)
        if found is None or not shown.fits(found.digest):
            return None
        if self._is_of_another_basis(found.record.rests_on):
            return None
        credential = accountable(shown.credential_id, found.record.rests_on)
        return await self._book.redeem_link(
            *(shown.credential_id, session.credential_id, session.digest, self.terms.lasts_s),
            author=Author(found.record.name, source, credential=credential),
            asked_in=self.settings.namespace,
        )

    async def _exchange(self, shown: Credential, session: Credential, source: str) -> SessionRecord | None:
        looked = await self._recognise(shown, CredentialKind.TOKEN)
        if looked is None or looked.record.role is Role.WORKER:
            return None
        token = looked.record
        about = token.name, token.role, token.namespace, shown.credential_id, self.terms.lasts_s
        return await self._book.open_session(
            NewSession(session.credential_id, session.digest, *about),
            by_token=True,
            author=Author(token.name, source, credential=shown.credential_id),
            asked_in=self.settings.namespace,
        )

    def _refuse(self, shown: Credential | None, client: str) -> Refused:
        self._failures.take(network_of(client))
        named = {} if shown is None else {"credential": shown.credential_id}
        self._log.warning("refused a credential", client=client, **named)
        return Refused()
