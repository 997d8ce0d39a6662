"""Behind a proxy each is taken for themselves; and nobody is taken for another because they say so."""

import http.client
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from fencepost.config import settings_from
from fencepost.errors import InvalidSettings
from fencepost.model.audit import LogFilter
from fencepost.web.auth.doorkeeper import FAILURES_BURST
from fencepost.web.auth.proxies import HOPS_MAX, Proxies
from fencepost.web.auth.reading import FORM
from tests.cli.processes import PATIENCE_S
from tests.services.house import NS
from tests.web.attacks.stage import Stage
from tests.web.door import HERE
from tests.web.house import TOKEN, Answer, ask, scope_of
from tests.web.serving import Server

TRUSTED = ("127.0.0.1", "10.0.0.0/24", "fd00::/16")
ALICE, GUESSER = "203.0.113.7", "198.51.100.9"
SPEC = {"schedule_id": "s", "job": "resize", "every": "1m"}


def seen(peer: str | None, *forwarded: str, proto: str | None = None) -> tuple[Any, str]:
    """For whom a request is taken, and its scheme."""
    scope: Any = scope_of("GET", "/", {} if proto is None else {"x-forwarded-proto": proto})
    scope["headers"] += [(b"x-forwarded-for", one.encode("latin-1")) for one in forwarded]
    scope["client"] = None if peer is None else (peer, 1)
    Proxies(TRUSTED).bring(scope)
    return scope["client"] and scope["client"][0], scope["scheme"]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", [ALICE], ALICE),
        ("10.0.0.9", [ALICE], ALICE),
        ("::ffff:10.0.0.9", [ALICE], ALICE),
        ("fd00::1", ["2001:db8::1"], "2001:db8::1"),
        ("127.0.0.1", [f"{ALICE}, 10.0.0.3, 10.0.0.4"], ALICE),
        ("127.0.0.1", [ALICE, "10.0.0.3"], ALICE),
        ("127.0.0.1", [f"{GUESSER}, {ALICE}"], ALICE),
        ("127.0.0.1", [f"10.0.0.3, {ALICE}"], ALICE),
        ("127.0.0.1", [f"{ALICE}:4711"], ALICE),
        ("127.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("127.0.0.1", ["10.0.0.3, 10.0.0.4"], "10.0.0.3"),
        ("127.0.0.1", [f"{ALICE}, unknown, 10.0.0.4"], "10.0.0.4"),
        ("127.0.0.1", [f"{ALICE}, "], "127.0.0.1"),
        ("127.0.0.1", ["<script>", "\xe9"], "127.0.0.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", [f"{ALICE}," + "10.0.0.3," * HOPS_MAX + "10.0.0.4"], "10.0.0.3"),
        ("10.0.1.9", [ALICE], "10.0.1.9"),
        ("203.0.113.1", ["127.0.0.1"], "203.0.113.1"),
        (None, [ALICE], None),
    ],
)
def test_the_client_is_the_last_that_is_no_proxy(peer: str | None, forwarded: list[str], client: str) -> None:
    assert seen(peer, *forwarded)[0] == client


def test_only_a_trusted_proxy_says_that_it_was_asked_with_tls() -> None:
    assert seen("10.0.0.9", ALICE, proto="https")[1] == "https"
    assert seen("10.0.0.9", ALICE, proto="HTTPS ")[1] == "https"
    for peer, proto in [("10.0.1.9", "https"), (None, "https"), ("10.0.0.9", "gopher"), ("10.0.0.9", None)]:
        assert seen(peer, proto=proto)[1] == "http"


async def guesses(stage: Stage, client: str, count: int = 1) -> list[int]:
    return [(await sign_in(stage, "no-token-at-all", client)).status for _ in range(count)]


async def sign_in(stage: Stage, token: str, client: str) -> Answer:
    body = urlencode({"token": token}).encode()
    given = {"content-type": FORM, "x-forwarded-for": client, "x-forwarded-proto": "https", **HERE}
    return await ask(stage.app, "POST", "/sign-in", body, None, headers=given)


async def test_a_guesser_behind_a_proxy_slows_nobody_else() -> None:
    stage = await Stage(trusted_proxies=TRUSTED).open()
    await guesses(stage, GUESSER, FAILURES_BURST)
    assert await guesses(stage, GUESSER) == [429]
    answer = await sign_in(stage, TOKEN, ALICE)
    assert answer.status == 303
    assert "strict-transport-security" in answer.headers
    (entry,) = await stage.house.memory.audit_log.list(NS, LogFilter())
    assert entry.author.source == f"sign-in from {ALICE}"
    made = await stage.ask("POST", "/api/v1/schedules", SPEC, token=TOKEN, x_forwarded_for=ALICE)
    assert made.status == 200, made.content
    entry, _ = await stage.house.memory.audit_log.list(NS, LogFilter())
    assert entry.author.source == f"api from {ALICE}"


async def test_without_the_setting_a_forged_header_changes_nothing() -> None:
    """A guesser who says each time that they are another is still the same one."""
    stage = await Stage().open()
    assert (await stage.ask("GET", "/api/v1/schedules", token=TOKEN)).status == 200
    for number in range(FAILURES_BURST):
        assert await guesses(stage, f"203.0.113.{number}") == [403]
    assert await guesses(stage, ALICE) == [429]
    made = await stage.ask(
        "POST", "/api/v1/schedules", SPEC, token=TOKEN, x_forwarded_for=ALICE, x_forwarded_proto="https"
    )
    assert "strict-transport-security" not in made.headers
    (entry,) = await stage.house.memory.audit_log.list(NS, LogFilter())
    assert entry.author.source == "api from 127.0.0.1"


@pytest.mark.parametrize(
    "text", ["", "proxy.example", "10.0.0.300", "10.0.0.7/8", "0.0.0.0/0", "::/0", "::ffff:0:0/96"]
)
def test_what_is_no_address_and_what_is_every_address_is_no_proxy(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"trusted_proxies .*: expected addresses and networks"):
        settings_from({}, overrides={"trusted_proxies": ("127.0.0.1", text)})


@pytest.mark.parametrize(
    ("text", "remedy"), [("::ffff:10.0.0.0/104", "10.0.0.0/8"), ("::ffff:127.0.0.1", "127.0.0.1/32")]
)
def test_a_proxy_that_no_peer_would_ever_match_is_refused(text: str, remedy: str) -> None:
    """Whoever comes with such an address is of version 4 for us."""
    with pytest.raises(InvalidSettings, match=f"{text}.*; write {remedy}$"):
        settings_from({}, overrides={"trusted_proxies": (text,)})
    assert settings_from({}, overrides={"trusted_proxies": (remedy,)}).trusted_proxies == (remedy,)


def test_the_environment_names_proxies_with_commas() -> None:
    settings = settings_from({"FENCEPOST_TRUSTED_PROXIES": "127.0.0.1, fd00::/16"})
    assert settings.trusted_proxies == ("127.0.0.1", "fd00::/16")


@pytest.mark.parametrize(("trusted", "client"), [(None, "127.0.0.1"), ("127.0.0.1", ALICE)])
def test_a_real_server_believes_no_header_by_itself(tmp_path: Path, trusted: str | None, client: str) -> None:
    """The server library would believe whoever is on this host."""
    server = Server(f"sqlite:///{tmp_path / 'store.db'}")
    named = {} if trusted is None else {"FENCEPOST_TRUSTED_PROXIES": trusted}
    with server.process(tmp_path, **named) as process:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        given = {"Authorization": "Bearer wrong", "X-Forwarded-For": ALICE, "X-Forwarded-Proto": "https"}
        connection.request("GET", "/api/v1/whoami", headers=given)
        response = connection.getresponse()
        assert response.status == 401
        assert ("strict-transport-security" in response.headers) is bool(trusted)
        connection.close()
        process.wait_for(f"refused a credential client={client}\n")
