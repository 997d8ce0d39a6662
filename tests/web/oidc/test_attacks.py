"""Signing in at a provider that lies, or by a browser that did not begin it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fencepost.model.audit import LogFilter
from fencepost.web.auth.doorkeeper import Doorkeeper, Refused
from fencepost.web.auth.oidc.attempt import COOKIE as ATTEMPT
from fencepost.web.auth.oidc.attempt import read_attempt
from fencepost.web.auth.reading import COOKIE
from tests.services.house import NS
from tests.web.door import PAGE, Door
from tests.web.house import Answer, ask, scope_of
from tests.web.oidc.forger import CLIENT_ID, EC_KEY, OTHER_KEY, RSA_KEY, Forger, forging, public

BACK = "/sign-in/oidc/callback"
PUBLIC = "https://cron.example.org"
ROLES = "admins=admin,batch=operator@batch,staff=viewer"
NOW = int(time.time())
Change = Callable[[Forger], None]


@pytest.fixture
async def forger() -> AsyncIterator[Forger]:
    async with forging() as made:
        yield made


@pytest.fixture
def door(forger: Forger) -> Door:
    return opened(forger)


def opened(forger: Forger, **settings: Any) -> Door:
    about = {"oidc_issuer": forger.issuer, "oidc_client_id": CLIENT_ID, "oidc_roles": ROLES}
    return Door(**{**about, "public_url": PUBLIC, **settings})


async def begun(door: Door, path: str = "/sign-in/oidc?next=%2Fruns%3Ftext%3Dx") -> tuple[str, str]:
    """The address at the provider, and the cookie of the attempt."""
    answer = await door.get(path, **PAGE)
    assert answer.status == 303, answer.content
    return answer.headers["location"], answer.headers["set-cookie"].partition(";")[0]


async def back(door: Door, cookie: str | None, **asked: str) -> Answer:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    headers = {**PAGE, **({} if cookie is None else {"cookie": cookie})}
    return await ask(door.app, "GET", f"{BACK}?{query}", b"", None, headers=headers)


async def came(door: Door, forger: Forger) -> Answer:
    """The whole way, with what the forger makes of it."""
    address, cookie = await begun(door)
    return await back(door, cookie, state=forger.sent(address)["state"], code="abc")


async def test_who_signs_in_at_the_provider_has_the_role_of_their_claim(door: Door, forger: Forger) -> None:
    answer = await came(door, forger)
    assert (answer.status, answer.headers["location"]) == (303, "/runs?text=x")
    seen = (await door.get(cookie=session_of(answer))).body
    assert (seen["name"], seen["role"], seen["namespace"]) == ("anna", "viewer", "*")
    (form,) = forger.forms
    verifier = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(verifier).decode().rstrip("=") == forger.challenge
    assert form["redirect_uri"] == f"{PUBLIC}{BACK}"
    assert forger.shown == [""]


async def test_the_provider_is_asked_with_all_that_ties_its_answer_to_this_attempt(
    door: Door, forger: Forger
) -> None:
    (address, cookie), (other, _) = await begun(door), await begun(door)
    asked, again = forger.sent(address), forger.sent(other)
    assert (asked["code_challenge_method"], asked["scope"]) == ("S256", "openid profile email")
    assert all(asked[name] != again[name] for name in ("state", "nonce", "code_challenge"))
    assert len({asked[name] for name in ("state", "nonce", "code_challenge")} | {cookie}) == 4
    told = (await door.get("/sign-in/oidc", **PAGE)).headers["set-cookie"]
    assert told.endswith("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_a_token_is_checked_by_the_key_of_the_provider(
    door: Door, forger: Forger, algorithm: str
) -> None:
    if algorithm == "ES256":
        forger.sign_with, forger.algorithm, forger.headers = EC_KEY, "ES256", {"kid": "two"}
    assert (await came(door, forger)).status == 303


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def unsigned(token: str) -> str:
    return f"{encoded(json.dumps({'alg': 'none', 'typ': 'JWT'}).encode())}.{token.split('.')[1]}."


def signed_by_what_all_know(token: str) -> str:
    """HS256 with the public key of the provider as the shared secret."""
    key = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = f"{encoded(json.dumps({'alg': 'HS256', 'kid': 'one'}).encode())}.{token.split('.')[1]}"
    return f"{signed}.{encoded(hmac.digest(key, signed.encode(), 'sha256'))}"


def changed(token: str) -> str:
    header, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "==")) | {"groups": ["admins"]}
    return (
        f"{header}.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.{signature}"
    )


def told(**claims: Any) -> Change:
    return lambda forger: forger.claims.update(claims)


def token(make: Callable[[str], str]) -> Change:
    return lambda forger: setattr(forger, "token", make)


def by_another_key(forger: Forger) -> None:
    forger.sign_with = OTHER_KEY


def by_an_unknown_key(forger: Forger) -> None:
    forger.headers = {"kid": "three"}


def by_an_encryption_key(forger: Forger) -> None:
    forger.keys[0]["use"] = "enc"


def with_a_key_of_its_own(forger: Forger) -> None:
    forger.sign_with = OTHER_KEY
    forger.headers = {"kid": "one", "jwk": public(OTHER_KEY, "RS256", "one")}


LIES: dict[str, tuple[Change, str]] = {
    "another nonce": (told(nonce="0" * 64), "another attempt"),
    "no nonce": (told(nonce=None), "another attempt"),
    "another key": (by_another_key, "Signature verification failed"),
    "an unknown key": (by_an_unknown_key, "unknown key"),
    "a key for encryption": (by_an_encryption_key, "unknown key"),
    "a key in the token": (with_a_key_of_its_own, "Signature verification failed"),
    "alg none": (token(unsigned), "&#39;none&#39;, which is not accepted"),
    "a shared secret": (token(signed_by_what_all_know), "&#39;HS256&#39;, which is not accepted"),
    "claims changed": (token(changed), "Signature verification failed"),
    "no token": (token(lambda _: "x"), "Not enough segments"),
    "expired": (told(exp=NOW - 600, iat=NOW - 700), "expired"),
    "no expiry": (told(exp=None), "exp"),
    "of tomorrow": (told(iat=NOW + 86_400, exp=NOW + 90_000), "not yet valid"),
    "another audience": (told(aud="other"), "Audience"),
    "another among the audiences": (told(aud=[CLIENT_ID, "other"]), "another client"),
    "another party": (told(azp="other"), "another client"),
    "another issuer": (told(iss="https://evil.test"), "issuer"),
    "no subject": (told(sub=""), "no subject"),
    "a subject that looks like another": (told(sub="аnna"), "no subject"),
}


@pytest.mark.parametrize(("lie", "why"), LIES.values(), ids=list(LIES))
async def test_a_token_that_does_not_fit_lets_nobody_in(
    door: Door, forger: Forger, lie: Change, why: str
) -> None:
    lie(forger)
    answer = await came(door, forger)
    assert answer.status == 403
    assert why in answer.content.decode()
    assert session_of(answer) is None


async def test_another_state_than_that_of_the_browser_lets_nobody_in(door: Door, forger: Forger) -> None:
    address, cookie = await begun(door)
    state = forger.sent(address)["state"]
    _, other = await begun(door)
    for shown, said in (
        (other, state),
        (None, state),
        (cookie, ""),
        (cookie, "0" * 64),
        (ATTEMPT + "=x", state),
    ):
        answer = await back(door, shown, state=said, code="abc")
        assert (answer.status, session_of(answer)) == (403, None)
        assert "has begun no sign-in" in answer.content.decode()
    assert "token" not in forger.asked


async def test_a_code_that_the_provider_does_not_take_again_lets_nobody_in(
    door: Door, forger: Forger
) -> None:
    """The provider keeps count of codes; a browser that has come in has no attempt any more either."""
    address, cookie = await begun(door)
    state = forger.sent(address)["state"]
    answer = await back(door, cookie, state=state, code="abc")
    assert answer.status == 303
    assert f"{ATTEMPT}=; Max-Age=0" in answer.headers["set-cookie"]
    forger.token_status = 400
    answer = await back(door, cookie, state=state, code="abc")
    assert (answer.status, session_of(answer)) == (502, None)
    assert "refused the code: invalid_grant; begin again" in answer.content.decode()


async def test_an_answer_of_another_provider_is_refused(door: Door, forger: Forger) -> None:
    address, cookie = await begun(door)
    state = forger.sent(address)["state"]
    answer = await back(door, cookie, state=state, code="abc", iss="https%3A%2F%2Fevil.test")
    assert (answer.status, session_of(answer)) == (403, None)
    assert "token" not in forger.asked


async def test_a_refusal_of_the_provider_is_shown_as_text(door: Door, forger: Forger) -> None:
    address, cookie = await begun(door)
    state = forger.sent(address)["state"]
    answer = await back(door, cookie, state=state, error="%3Cscript%3E")
    assert answer.status == 403
    assert b"<script>" not in answer.content
    assert b"did not sign you in: &lt;script&gt;" in answer.content


@pytest.mark.parametrize("wanted", ["https://evil.test/", "//evil.test", "/\\evil.test", "/sign-in/oidc"])
async def test_nobody_is_sent_anywhere_else_afterwards(door: Door, forger: Forger, wanted: str) -> None:
    secret = "ab" * 32
    there = base64.urlsafe_b64encode(wanted.encode()).decode()
    for cookie in ((await begun(door, f"/sign-in/oidc?next={wanted}"))[1], f"{ATTEMPT}={secret}.{there}"):
        attempt = read_attempt(cookie.partition("=")[2])
        assert attempt is not None
        forger.nonce = attempt.nonce
        answer = await back(door, cookie, state=attempt.state, code="abc")
        assert (answer.status, answer.headers["location"]) == (303, "/")


async def test_who_has_no_role_does_not_come_in_and_is_told_why(door: Door, forger: Forger) -> None:
    for groups, why in ((["guests"], "has no value of groups with a role"), (None, "has no claim groups")):
        forger.claims["groups"] = groups
        answer = await came(door, forger)
        assert (answer.status, session_of(answer)) == (403, None)
        assert f"You signed in as anna, who {why}" in answer.content.decode()


async def test_the_first_rule_that_fits_counts_and_may_name_a_namespace(door: Door, forger: Forger) -> None:
    forger.claims["groups"] = ["staff", "batch"]
    seen = (await door.get(cookie=session_of(await came(door, forger)))).body
    assert (seen["role"], seen["namespace"]) == ("operator", "batch")


@pytest.mark.parametrize("name", ["system", "FENCEPOST_TOKEN", "oidc:1@x", "аnna", "t3f9c2a1b8d7e6f50"])
async def test_a_name_of_the_provider_does_not_pass_for_another(
    door: Door, forger: Forger, name: str
) -> None:
    forger.claims["preferred_username"] = name
    seen = (await door.get(cookie=session_of(await came(door, forger)))).body
    assert seen["name"] == f"oidc:248@127.0.0.1:{forger.port}"


async def test_a_claim_may_come_by_userinfo_about_the_same_person(forger: Forger) -> None:
    forger.claims["groups"] = None
    forger.userinfo = {"sub": "248", "groups": ["admins"]}
    door = opened(forger)
    seen = (await door.get(cookie=session_of(await came(door, forger)))).body
    assert seen["role"] == "admin"
    forger.userinfo["sub"] = "249"
    answer = await came(door, forger)
    assert (answer.status, session_of(answer)) == (403, None)


async def test_new_keys_of_the_provider_are_asked_for_and_not_at_every_token(
    door: Door, forger: Forger
) -> None:
    assert (await came(door, forger)).status == 303
    forger.headers = {"kid": "three"}
    for _ in range(3):
        assert (await came(door, forger)).status == 403
    assert (forger.asked.count("keys"), forger.asked.count("discovery")) == (1, 1)


async def test_a_key_that_the_provider_has_taken_back_is_not_believed_for_long(
    door: Door, forger: Forger
) -> None:
    assert (await came(door, forger)).status == 303
    del forger.keys[0]
    door.house.clock.advance(601)
    answer = await came(door, forger)
    assert (answer.status, session_of(answer)) == (403, None)
    assert "unknown key" in answer.content.decode()


async def test_who_guesses_codes_is_not_passed_on_to_the_provider_without_end(
    door: Door, forger: Forger
) -> None:
    forger.token_status = 400
    address, cookie = await begun(door)
    state = forger.sent(address)["state"]
    answers = [await back(door, cookie, state=state, code=str(number)) for number in range(62)]
    assert [one.status for one in answers] == [*[502] * 60, 403, 403]
    assert "begin again in 1 s" in answers[-1].content.decode()
    assert forger.asked.count("token") == 60


async def test_a_session_ends_with_the_provider_of_the_server(door: Door, forger: Forger) -> None:
    cookie = session_of(await came(door, forger))
    assert cookie is not None
    assert (await door.get(cookie=cookie)).status == 200
    for issuer in ("https://login.example.org", ""):
        settings = replace(door.house.settings, oidc_issuer=issuer)
        other = Doorkeeper(door.house.store, settings, door.house.clock)
        assert await other.admit(scope_of("GET", "/x", {"cookie": f"{COOKIE}={cookie}"})) == Refused()


async def test_a_sign_in_leaves_an_entry_that_names_the_person(door: Door, forger: Forger) -> None:
    await came(door, forger)
    (entry,) = await door.house.memory.audit_log.list(NS, LogFilter())
    known_by = f"oidc:248@127.0.0.1:{forger.port}"
    assert (entry.author.name, entry.author.credential) == ("anna", known_by)
    assert entry.after["opened_with"] == known_by


def session_of(answer: Answer) -> str | None:
    """The session that the answer gives, or None."""
    for one in answer.headers.get("set-cookie", "").split("\n"):
        name, _, rest = one.partition("=")
        if name == COOKIE:
            return rest.partition(";")[0]
    return None
