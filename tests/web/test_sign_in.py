"""Signing in and out: once, with a new session each time, and never to somewhere else."""

import asyncio
from html import unescape
from urllib.parse import quote

import pytest

from fencepost.model.access import CredentialKind, mint, read_credential
from fencepost.model.audit import LogFilter
from fencepost.model.tables import LINKS, SESSIONS, TOKENS
from fencepost.operations import credentials
from fencepost.web.auth.known import BELIEVED_S
from fencepost.web.auth.redirects import local_path
from tests.rows import share
from tests.services.house import NS
from tests.web.door import HERE, Door, cookie_of
from tests.web.house import TOKEN, ask

DAY_S = 86_400.0
ELSEWHERE = [
    "https://evil.test/",
    "//evil.test/",
    "///evil.test",
    "/\\evil.test",
    "\\\\evil.test",
    "/\t/evil.test",
    "/\n/evil.test",
    "\t//evil.test",
    " //evil.test",
    "javascript:alert(1)",
    "http:evil.test",
    "evil.test",
    "",
    "/\x00",
    "/é",
    "/" + "x" * 3_000,
    "/sign-out",
    "/sign-in?next=/sign-in",
    "//[",
]


async def test_opening_a_link_does_not_use_it_up(door: Door) -> None:
    link = await door.link()
    for _ in range(3):
        answer = await door.get(f"/sign-in?link={link}")
        assert answer.status == 200
        assert f'name="link" value="{link}"' in answer.content.decode()
        assert "set-cookie" not in answer.headers
    assert (await door.post("/sign-in", {"link": link})).status == 303


async def test_a_link_signs_in_once(door: Door) -> None:
    link = await door.link()
    seen = (await door.get(cookie=await door.sign_in(link))).body
    assert (seen["name"], seen["role"], seen["namespace"], seen["came"]) == (
        *("anna", "admin", "default"),
        "session",
    )
    answer = await door.post("/sign-in", {"link": link})
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


async def test_who_knows_only_the_id_of_a_link_does_not_come_in_and_does_not_use_it_up(door: Door) -> None:
    """The id is shown in lists and in the audit log; the rest of the link is what lets somebody in."""
    link = await door.link()
    guessed = link[:-1] + ("0" if link[-1] != "0" else "1")
    answer = await door.post("/sign-in", {"link": guessed})
    assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert (await door.post("/sign-in", {"link": link})).status == 303


async def test_two_who_use_a_link_at_the_same_moment_do_not_both_come_in(door: Door) -> None:
    """Both have found the link fresh before either redeems it."""
    link = await door.link()
    held = [door.house.store.hold("access.redeem_link") for _ in range(2)]
    both = [asyncio.create_task(door.post("/sign-in", {"link": link})) for _ in range(2)]
    for one in held:
        await one.reached.wait()
    for one in held:
        one.go.set()
    assert sorted([(await one).status for one in both]) == [303, 403]


async def test_an_expired_link_opens_no_session(door: Door) -> None:
    link = await door.link()
    door.house.clock.advance(600)
    assert (await door.post("/sign-in", {"link": link})).status == 403


async def test_a_token_and_the_setting_sign_in_too(door: Door) -> None:
    made = await door.token()
    seen = (await door.get(cookie=await door.sign_in(made.credential.reveal()))).body
    assert (seen["name"], seen["role"], seen["came"]) == ("ci", "viewer", "session")
    seen = (await door.get(cookie=await door.sign_in(TOKEN))).body
    assert (seen["name"], seen["role"], seen["namespace"]) == ("FENCEPOST_TOKEN", "admin", "*")


async def test_a_session_by_a_setting_is_over_when_that_changes(door: Door) -> None:
    cookie = await door.sign_in(TOKEN)
    other = Door(token="another-token-of-32-characters-or-more")
    share(door.house.memory, other.house.memory, TOKENS, SESSIONS, LINKS)
    assert (await other.get(cookie=cookie)).status == 401
    assert (await door.get(cookie=cookie)).status == 200


@pytest.mark.parametrize(
    "shown", ["", "x", "fp_", mint(CredentialKind.LINK, lambda size: bytes(size)).reveal()]
)
@pytest.mark.parametrize("field", ["token", "link"])
async def test_what_is_not_good_signs_nobody_in_and_is_not_shown(door: Door, field: str, shown: str) -> None:
    answer = await door.post("/sign-in", {field: shown})
    assert answer.status == 403
    assert "not good, or not any more" in answer.content.decode()
    assert "set-cookie" not in answer.headers
    assert len(shown) < 5 or shown not in answer.content.decode()


async def test_the_cookie_is_for_this_server_only(door: Door) -> None:
    answer = await door.post("/sign-in", {"link": await door.link()})
    value, *attributes = answer.headers["set-cookie"].split("; ")
    assert value.startswith("__Host-fencepost=fp_s")
    assert set(attributes) == {"Path=/", "Secure", "HttpOnly", "SameSite=Strict", "Max-Age=604800"}


async def test_a_session_that_was_there_before_is_not_gone_on_with(door: Door) -> None:
    """Whoever planted a cookie in the browser knows nothing of the session that follows."""
    planted = await door.sign_in()
    cookie = await door.sign_in(cookie=planted)
    assert cookie != planted
    made_up = mint(CredentialKind.SESSION, lambda size: bytes(size)).reveal()
    cookie = await door.sign_in(cookie=made_up)
    assert cookie != made_up
    assert (await door.get(cookie=made_up)).status == 401


async def test_signing_out_ends_the_session_in_the_store(door: Door) -> None:
    cookie, other = await door.sign_in(), await door.sign_in()
    csrf = (await door.get(cookie=cookie)).body["csrf"]
    answer = await door.post("/sign-out", {"csrf": csrf}, cookie)
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in")
    assert cookie_of(answer) == ""
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert (await door.get(cookie=cookie)).status == 401, "at once, although it was believed a moment ago"
    assert (await door.get(cookie=other)).status == 200


async def test_signing_out_needs_the_form_of_the_session(door: Door) -> None:
    cookie = await door.sign_in()
    assert (await door.post("/sign-out", {}, cookie)).problem == "forbidden"
    assert (await door.get("/sign-out", cookie=cookie)).status == 405
    assert (await door.get(cookie=cookie)).status == 200


async def test_an_unused_session_ends(door: Door) -> None:
    cookie = await door.sign_in()
    for _ in range(3):
        door.house.clock.advance(11 * 3600)
        assert (await door.get(cookie=cookie)).status == 200
    door.house.clock.advance(12 * 3600)
    assert (await door.get(cookie=cookie)).status == 401


async def test_a_session_ends_on_its_last_day_however_busy(door: Door) -> None:
    cookie = await door.sign_in()
    for _ in range(14 - 1):
        door.house.clock.advance(DAY_S / 2 - 60)
        assert (await door.get(cookie=cookie)).status == 200
    door.house.clock.advance(DAY_S / 2)
    door.house.clock.advance(14 * 60)
    assert (await door.get(cookie=cookie)).status == 401


async def test_a_session_ends_with_the_token_that_opened_it(door: Door) -> None:
    made = await door.token()
    cookie = await door.sign_in(made.credential.reveal())
    assert (await door.get(cookie=cookie)).status == 200
    await credentials.revoke(door.verbs, made.record.token_id)
    door.house.clock.advance(BELIEVED_S)
    assert (await door.get(cookie=cookie)).status == 401


async def test_a_session_that_an_admin_ended_is_over(door: Door) -> None:
    cookie = await door.sign_in()
    credential = read_credential(cookie)
    assert credential is not None
    await credentials.end_session(door.verbs, credential.credential_id)
    door.house.clock.advance(BELIEVED_S)
    assert (await door.get(cookie=cookie)).status == 401


async def test_it_goes_on_to_what_was_asked_for(door: Door) -> None:
    there = "/runs?state=dead&text=a%20b#x"
    page = (await door.get(f"/sign-in?next={quote(there, safe='')}")).content.decode()
    assert f'name="next" value="{there}"' in unescape(page)
    answer = await door.post("/sign-in", {"link": await door.link(), "next": there})
    assert answer.headers["location"] == there


@pytest.mark.parametrize("there", ELSEWHERE)
async def test_it_never_goes_on_to_another_server(door: Door, there: str) -> None:
    page = (await door.get(f"/sign-in?next={quote(there, safe='')}")).content.decode()
    assert 'name="next" value="/"' in page
    answer = await door.post("/sign-in", {"link": await door.link(), "next": there})
    assert answer.headers["location"] == "/"
    assert local_path(there) == "/"


async def test_what_stands_in_the_address_is_not_markup(door: Door) -> None:
    for name in ("link", "next"):
        page = await door.get(
            f"/sign-in?{name}={quote('/' + chr(34) + '><script>alert(1)</script>', safe='')}"
        )
        assert b"<script>alert" not in page.content


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("DELETE", "/sign-in", "GET, HEAD, POST"), ("PUT", "/sign-in", "GET, HEAD, POST")],
)
async def test_other_methods_are_refused(door: Door, method: str, path: str, allow: str) -> None:
    answer = await ask(door.app, method, path, token=None, headers=HERE)
    assert (answer.status, answer.headers["allow"]) == (405, allow)


async def test_signing_in_and_out_is_in_the_audit_log_and_no_secret_is(door: Door) -> None:
    link = await door.link()
    cookie = await door.sign_in(link)
    csrf = (await door.get(cookie=cookie)).body["csrf"]
    await door.post("/sign-out", {"csrf": csrf}, cookie)
    log = await door.house.memory.audit_log.list(NS, LogFilter())
    assert [str(one.action) for one in log] == ["session.end", "session.open", "link.open"]
    assert [one.author.source for one in log][:2] == ["sign-out from 127.0.0.1", "sign-in from 127.0.0.1"]
    for secret in (link, cookie, csrf):
        assert secret.rpartition("_")[2] not in str(log)


async def test_a_store_that_is_away_is_said_so_and_the_link_is_still_good(door: Door) -> None:
    link = await door.link()
    door.house.store.fail_before("access.redeem_link")
    assert (await door.post("/sign-in", {"link": link})).problem == "store-unavailable"
    assert (await door.post("/sign-in", {"link": link})).status == 303
