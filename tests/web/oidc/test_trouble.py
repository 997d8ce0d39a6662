"""A provider that is away or not set up: one line that says so with the remedy, and tokens still sign in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.config import settings_from
from fencepost.errors import InvalidSettings, MissingExtra
from fencepost.wiring import require_oidc
from tests.cli.processes import said
from tests.servers.ports import free_port
from tests.web.door import PAGE, Door
from tests.web.house import TOKEN
from tests.web.oidc.forger import CLIENT_ID, Forger, forging
from tests.web.oidc.test_attacks import back, begun, came, opened
from tests.web.serving import MANIFEST

FINE = {"oidc_issuer": "https://login.example.org", "oidc_client_id": "x", "oidc_roles": "admins=admin"}
UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "plain http": ({"oidc_issuer": "http://login.example.org"}, "expected an https address"),
    "no address": ({"oidc_issuer": "login.example.org"}, "expected an https address"),
    "credentials": ({"oidc_issuer": "https://a:b@login.example.org"}, "expected an https address"),
    "no client": ({"oidc_client_id": ""}, "oidc_client_id: needed with oidc_issuer"),
    "no roles": ({"oidc_roles": ()}, "oidc_roles: needed with oidc_issuer"),
    "a role that is none": ({"oidc_roles": "admins=root"}, "'admins=root': expected VALUE=ROLE"),
    "a worker": ({"oidc_roles": "machines=worker"}, "with a role of viewer, operator, admin"),
    "no value": ({"oidc_roles": "=admin"}, "expected VALUE=ROLE"),
    "no namespace": ({"oidc_roles": "a=admin@"}, "expected VALUE=ROLE"),
    "no openid": ({"oidc_scopes": "profile"}, "openid must be among them"),
}
DOCUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "another issuer": ({"issuer": "https://evil.test"}, "set oidc_issuer to exactly that"),
    "a token address in clear": ({"token_endpoint": "http://evil.test/token"}, "must name https addresses"),
    "a key address in clear": ({"jwks_uri": "http://169.254.169.254/keys"}, "must name https addresses"),
    "a file": ({"jwks_uri": "file:///etc/passwd"}, "must name https addresses"),
    "no PKCE": ({"code_challenge_methods_supported": ["plain"]}, "does not know PKCE with S256"),
    "no token address": ({"token_endpoint": None}, "is not what an OpenID provider has there"),
}


@pytest.fixture
async def forger() -> AsyncIterator[Forger]:
    async with forging() as made:
        yield made


@pytest.mark.parametrize(("changed", "told"), UNFIT.values(), ids=list(UNFIT))
def test_settings_that_do_not_fit_are_refused_with_what_was_expected(
    changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidSettings, match="oidc_") as refused:
        settings_from({}, overrides={**FINE, **changed})
    assert told in str(refused.value)


def test_a_secret_in_the_place_of_where_it_is_kept_is_not_repeated() -> None:
    with pytest.raises(InvalidSettings, match="env:NAME or file:/path") as refused:
        settings_from({}, overrides={**FINE, "oidc_client_secret": "hunter2"})
    assert "hunter2" not in str(refused.value)


def test_a_secret_that_is_not_there_is_told_before_anything_runs() -> None:
    settings = settings_from({}, overrides={**FINE, "oidc_client_secret": "env:NO_SUCH_VARIABLE"})
    with pytest.raises(InvalidSettings, match=r"env:NO_SUCH_VARIABLE.*; set it"):
        require_oidc(settings)


def test_a_server_without_what_checks_tokens_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.wiring.find_spec", lambda name: None if name == "jwt" else name)
    with pytest.raises(MissingExtra, match=r"fencepost\[oidc\]"):
        require_oidc(settings_from({}, overrides=FINE))


def test_options_of_the_command_name_the_provider_and_are_checked_before_anything_runs() -> None:
    role, client = ("--oidc-role", "admins=admin"), ("--oidc-client-id", "x")
    secret = ("--oidc-client-secret", "env:NO_SUCH_VARIABLE")
    serve = ("web", str(MANIFEST), "--bind", "127.0.0.1:0", "--oidc-issuer")
    code, told = said(*serve, "http://login.example.org", *role, *client)
    assert (code, "expected an https address" in told) == (2, True)
    code, told = said(*serve, "https://login.example.org", *role, *client, *secret)
    assert (code, "there is no env:NO_SUCH_VARIABLE" in told) == (2, True)


async def test_a_provider_that_is_away_keeps_no_token_from_signing_in() -> None:
    port = free_port()
    door = Door(oidc_issuer=f"http://127.0.0.1:{port}", oidc_client_id=CLIENT_ID, oidc_roles="a=admin")
    answer = await door.get("/sign-in/oidc", **PAGE)
    assert answer.status == 502
    text = answer.content.decode()
    assert f"The sign-in provider 127.0.0.1:{port} cannot be reached" in text
    assert "check oidc_issuer, and the network of this server" in text
    assert (await door.get(cookie=await door.sign_in(TOKEN))).status == 200


@pytest.mark.parametrize(("document", "told"), DOCUMENTS.values(), ids=list(DOCUMENTS))
async def test_a_provider_that_is_not_set_up_is_told_with_the_remedy(
    forger: Forger, document: dict[str, Any], told: str
) -> None:
    forger.document = document
    answer = await opened(forger).get("/sign-in/oidc", **PAGE)
    assert answer.status == 502
    assert told in answer.content.decode()
    assert forger.asked == ["discovery"]


async def test_no_redirect_of_the_provider_is_followed(forger: Forger) -> None:
    forger.moved = "http://169.254.169.254/latest"
    answer = await opened(forger).get("/sign-in/oidc", **PAGE)
    assert answer.status == 502
    assert "status 302" in answer.content.decode()


async def test_an_endless_answer_of_the_provider_is_not_read_to_its_end(forger: Forger) -> None:
    forger.document = {"more": "x" * 1_000_000}
    answer = await opened(forger).get("/sign-in/oidc", **PAGE)
    assert answer.status == 502
    assert "answered more than" in answer.content.decode()


async def test_the_provider_is_shown_the_secret_as_it_wants_it(
    forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TEST", "p:ss wörd")
    for methods in (["client_secret_basic"], ["client_secret_post"]):
        forger.document = {"token_endpoint_auth_methods_supported": methods}
        door = opened(forger, oidc_client_secret="env:SECRET_OF_THE_TEST")
        assert (await came(door, forger)).status == 303
    assert forger.shown == ["Basic ZmVuY2Vwb3N0OnAlM0Fzcyt3JUMzJUI2cmQ=", ""]
    assert [one.get("client_secret") for one in forger.forms] == [None, "p:ss wörd"]


async def test_without_a_provider_there_is_no_way_to_one() -> None:
    door = Door()
    for path in ("/sign-in/oidc", "/sign-in/oidc/callback?code=x"):
        assert (await door.get(path)).status == 404
    assert b"Sign in at" not in (await door.get("/sign-in", **PAGE)).content


async def test_the_way_to_the_provider_is_gone_by_get_alone(forger: Forger) -> None:
    door = opened(forger)
    for path in ("/sign-in/oidc", "/sign-in/oidc/callback"):
        assert (await door.post(path)).status == 405


async def test_the_page_says_where_one_signs_in_and_forgets_nothing_of_where_to_go(forger: Forger) -> None:
    page = (await opened(forger).get("/sign-in?next=%2Fruns%3Fa%3D1", **PAGE)).content.decode()
    assert f"Sign in at 127.0.0.1:{forger.port}</a>" in page
    assert 'href="/sign-in/oidc?next=%2Fruns%3Fa%3D1"' in page
    assert 'name="token"' in page


async def test_the_address_to_come_back_to_is_that_of_the_request_where_none_is_set(forger: Forger) -> None:
    door = opened(forger, public_url="")
    answer = await door.get("/sign-in/oidc", **PAGE, host="127.0.0.1:8580")
    asked = forger.sent(answer.headers["location"])
    assert asked["redirect_uri"] == "http://127.0.0.1:8580/sign-in/oidc/callback"


async def test_a_provider_that_does_not_take_the_client_is_told_with_the_remedy(forger: Forger) -> None:
    forger.token_status, forger.token_error = 401, "invalid_client"
    door = opened(forger)
    address, cookie = await begun(door)
    answer = await back(door, cookie, state=forger.sent(address)["state"], code="abc")
    assert answer.status == 502
    assert "invalid_client; check oidc_client_id and oidc_client_secret" in answer.content.decode()
