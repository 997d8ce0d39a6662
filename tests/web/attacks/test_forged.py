"""Nothing changes by a cookie alone: every route that may change something, each way to forge a request."""

from __future__ import annotations

from urllib.parse import urlencode

from fencepost.model.access import Role
from fencepost.web.auth.reading import FORM
from tests.web.attacks.stage import Stage, unsafe
from tests.web.door import HERE, HOST

EVIL = "https://evil.example"
FROM_HERE = {name.replace("-", "_"): value for name, value in HERE.items()}
ELSEWHERE_SENT = [
    {"host": HOST, "origin": EVIL, "sec_fetch_site": "cross-site"},
    {"host": HOST, "origin": "null", "sec_fetch_site": "cross-site"},
    {"host": HOST, "origin": "null"},
    {"host": HOST, "origin": f"http://{HOST}", "sec_fetch_site": "same-site"},
    {"host": HOST, "origin": f"http://{HOST}@evil.example", "sec_fetch_site": "same-origin"},
    {"host": HOST},
    {"host": "evil.example", "origin": f"http://{HOST}"},
]


async def test_no_route_changes_anything_for_a_page_of_another_site(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token())
    body, passed = urlencode({"csrf": csrf, "confirmed": "yes"}).encode(), []
    mark = stage.marked()
    for method, path in unsafe(stage.serving):
        for headers in ELSEWHERE_SENT:
            answer = await stage.ask(method, path, body, cookie=cookie, content_type=FORM, **headers)
            passed += [] if answer.status == 403 else [(method, path, headers, answer.status)]
    assert passed == []
    assert stage.asked_since(mark) == set()
    assert (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 200, "still signed in"


async def test_no_route_changes_anything_without_the_secret_of_the_session(stage: Stage) -> None:
    token = await stage.token()
    cookie, csrf = await stage.sign_in(token)
    _, of_another = await stage.sign_in(token)
    wrong = ["", of_another, csrf[:-1], csrf.upper(), csrf + "0"]
    passed, mark = [], stage.marked()
    for method, path in unsafe(stage.serving):
        for one in wrong:
            form = urlencode({"csrf": one, "confirmed": "yes"}).encode()
            kinds = [(form, {"content_type": FORM}), (b"{}", {"content_type": "text/plain"})]
            kinds += [(b"{}", {"content_type": "application/json", **({"x_csrf_token": one} if one else {})})]
            for body, headers in kinds:
                answer = await stage.ask(method, path, body, cookie=cookie, **FROM_HERE, **headers)
                passed += [] if answer.status == 403 else [(method, path, one, headers, answer.status)]
    assert passed == []
    assert stage.asked_since(mark) == set()


async def test_the_same_requests_pass_with_both(stage: Stage) -> None:
    """Else the refusals above would say nothing."""
    cookie, csrf = await stage.sign_in(await stage.token(Role.ADMIN))
    refused = []
    for method, path in unsafe(stage.serving):
        if path != "/sign-out":
            answer = await stage.ask(
                method,
                path,
                b"{}",
                cookie=cookie,
                **FROM_HERE,
                x_csrf_token=csrf,
                content_type="application/json",
            )
            forged = answer.status == 403 and b"page of this server" in answer.content
            refused += [(method, path)] if forged or b"the form is too old" in answer.content else []
    assert refused == []


async def test_a_body_that_a_form_could_send_is_no_json(stage: Stage) -> None:
    """A form of another site can send JSON as text without asking first."""
    token = (await stage.token()).credential.reveal()
    for kind in ("text/plain", "text/plain; a=application/json", FORM, "multipart/form-data; boundary=x"):
        answer = await stage.ask(
            "POST", "/api/v1/jobs/resize/enqueue", b'{"key": "k"}', token=token, content_type=kind
        )
        assert (answer.status, answer.problem) == (415, "not-json"), kind


async def test_nobody_is_signed_out_or_changed_by_looking(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token())
    for path in ("/sign-out", f"/sign-out?csrf={csrf}", "/do/schedules.pause?schedule_id=x"):
        for method in ("GET", "HEAD"):
            assert (await stage.ask(method, path, cookie=cookie)).status in (404, 405)
    assert (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 200
