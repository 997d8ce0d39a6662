"""Requests that another site had a browser send change nothing."""

import json

import pytest

from tests.web.door import HERE, HOST, Door
from tests.web.house import TOKEN, ask

FROM_ELSEWHERE = [
    pytest.param({"host": HOST}, id="nothing says where it comes from"),
    pytest.param({**HERE, "sec-fetch-site": "cross-site"}, id="another site"),
    pytest.param({**HERE, "sec-fetch-site": "same-site"}, id="a neighbour on the same domain"),
    pytest.param({**HERE, "sec-fetch-site": "none"}, id="nobody's page"),
    pytest.param({**HERE, "origin": "https://evil.test"}, id="another origin"),
    pytest.param({"host": HOST, "origin": "https://evil.test"}, id="another origin, of an older browser"),
    pytest.param({"host": HOST, "origin": "null"}, id="no origin, of an older browser"),
    pytest.param({"host": HOST, "origin": f"http://{HOST}.evil.test"}, id="one that begins like ours"),
    pytest.param({"host": HOST, "origin": "http://127.0.0.1:8581"}, id="another port"),
    pytest.param({"host": HOST, "origin": f"file://{HOST}"}, id="a file"),
    pytest.param({"origin": f"http://{HOST}"}, id="no host"),
    pytest.param({"host": HOST, "origin": "http://["}, id="no address at all"),
]
FROM_HERE = [
    pytest.param(HERE, id="both headers"),
    pytest.param({"host": HOST, "sec-fetch-site": "same-origin"}, id="the site alone"),
    pytest.param({**HERE, "origin": "null"}, id="a page without a referrer"),
    pytest.param({"host": HOST, "origin": f"http://{HOST}"}, id="an older browser"),
    pytest.param({"host": HOST, "origin": f"https://{HOST}"}, id="through a proxy with TLS"),
]


async def csrf_of(door: Door, cookie: str) -> str:
    found: str = (await door.get(cookie=cookie)).body["csrf"]
    assert len(found) == 64
    return found


@pytest.mark.parametrize("headers", FROM_ELSEWHERE)
async def test_another_site_changes_nothing_even_with_the_secret(door: Door, headers: dict[str, str]) -> None:
    cookie = await door.sign_in()
    csrf = await csrf_of(door, cookie)
    answer = await door.post("/x", {"csrf": csrf}, cookie, headers=headers)
    assert (answer.status, answer.problem) == (403, "forbidden")
    answer = await door.post("/sign-in", {"link": await door.link()}, headers=headers)
    assert (answer.status, answer.problem) == (403, "forbidden"), "nor is anybody signed in by it"


@pytest.mark.parametrize("headers", FROM_HERE)
async def test_our_own_pages_do(door: Door, headers: dict[str, str]) -> None:
    cookie = await door.sign_in()
    fields = {"csrf": await csrf_of(door, cookie), "name": "a b"}
    answer = await door.post("/x", fields, cookie, headers=headers)
    assert answer.status == 200
    assert answer.body["body"].endswith("name=a+b"), "and what they send comes through whole"
    assert (await door.post("/sign-in", {"link": await door.link()}, headers=headers)).status == 303


async def test_a_form_without_the_secret_of_its_session_is_refused(door: Door) -> None:
    cookie, other = await door.sign_in(), await door.sign_in()
    right, of_other = await csrf_of(door, cookie), await csrf_of(door, other)
    assert right != of_other
    for wrong in ({}, {"csrf": ""}, {"csrf": of_other}, {"csrf": right[:-1]}, {"CSRF": right}, {"csrf": "é"}):
        answer = await door.post("/x", wrong, cookie)
        assert (answer.status, answer.problem) == (403, "forbidden"), wrong
    assert (await door.post(f"/x?csrf={right}", {}, cookie)).status == 403, "nor does the address carry it"
    assert (await door.post("/x", {"csrf": right}, cookie)).status == 200


async def test_the_secret_twice_is_none(door: Door) -> None:
    cookie = await door.sign_in()
    csrf = await csrf_of(door, cookie)
    headers = {**HERE, "cookie": f"__Host-fencepost={cookie}"}
    headers["content-type"] = "application/x-www-form-urlencoded"
    twice = f"csrf={csrf}&csrf={csrf}".encode()
    assert (await ask(door.app, "POST", "/x", twice, None, headers=headers)).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_scripts_show_the_secret_in_a_header(door: Door, method: str) -> None:
    cookie = await door.sign_in()
    csrf = await csrf_of(door, cookie)
    headers = {**HERE, "cookie": f"__Host-fencepost={cookie}", "content-type": "application/json"}
    body = json.dumps({"csrf": csrf}).encode()
    assert (await ask(door.app, method, "/api/v1/x", body, None, headers=headers)).status == 403
    headers["x-csrf-token"] = csrf
    assert (await ask(door.app, method, "/api/v1/x", body, None, headers=headers)).status == 200


async def test_looking_needs_no_secret(door: Door) -> None:
    cookie = await door.sign_in()
    assert (await door.get(cookie=cookie, sec_fetch_site="cross-site")).status == 200


async def test_programs_with_a_token_need_neither(door: Door) -> None:
    assert (await door.post("/x", {}, token=TOKEN, headers={})).status == 200
    cookie = await door.sign_in()
    assert (await door.post("/x", {}, cookie, token=TOKEN, headers={})).status == 200
