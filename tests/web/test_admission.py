"""Who is let in, as whom, and for how long."""

from typing import Any

import pytest
from litestar.types import Receive, Scope, Send

from fencepost.errors import InvalidSettings
from fencepost.model.access import EVERYWHERE, Came, CredentialKind, Principal, Role, mint
from fencepost.model.identifiers import Namespace
from fencepost.model.tables import TOKENS
from fencepost.operations import credentials
from fencepost.web.auth import OPEN_PATHS, Doorkeeper, Guarded
from fencepost.web.auth.known import BELIEVED_S
from fencepost.web.auth.redirects import WAYS
from tests.services.house import House
from tests.web.door import PAGE, Door, probe
from tests.web.house import TOKEN, ask, scope_of

TOKEN_OF_NOBODY = mint(CredentialKind.TOKEN, lambda size: bytes(range(size))).reveal()


async def test_a_token_of_the_store_lets_in_as_what_it_was_made_for(door: Door) -> None:
    made = await credentials.create(door.verbs, "grafana", Role.OPERATOR, "billing")
    seen = (await door.get(token=made.credential.reveal())).body
    assert seen == {
        "name": "grafana",
        "role": "operator",
        "namespace": "billing",
        "came": "token",
        "id": made.record.token_id,
        "csrf": "",
        "body": "",
    }


async def test_the_setting_lets_in_as_an_admin_of_everything_only_if_it_is_set() -> None:
    seen = (await Door().get(token=TOKEN)).body
    assert (seen["role"], seen["namespace"], seen["came"]) == ("admin", "*", "setting")
    closed = Door(token="")
    for shown in (TOKEN, ""):
        assert (await closed.get(token=shown)).problem == "unauthorized"


def test_a_setting_that_can_be_guessed_is_refused_at_the_start() -> None:
    house = House(token="short")
    with pytest.raises(InvalidSettings, match="FENCEPOST_TOKEN: expected at least 32"):
        Doorkeeper(house.store, house.settings)


async def test_nothing_but_a_token_is_taken_for_one(door: Door) -> None:
    made = await door.token()
    right = made.credential.reveal()
    session, link = await door.sign_in(), await door.link()
    for wrong in (
        right[:-1],
        right + "0",
        right[:-1] + ("0" if right[-1] != "0" else "1"),
        made.record.token_id,
        made.credential.digest,
        TOKEN_OF_NOBODY,
        session,
        link,
    ):
        assert (await door.get(token=wrong)).problem == "unauthorized", wrong
        door.house.clock.advance(10)
    for wrong in (right, link):
        assert (await door.get(cookie=wrong)).problem == "unauthorized"


async def test_a_bad_token_is_not_made_good_by_a_good_cookie(door: Door) -> None:
    cookie = await door.sign_in()
    assert (await door.get(cookie=cookie)).status == 200
    assert (await door.get(token=TOKEN_OF_NOBODY, cookie=cookie)).status == 401
    assert (await door.get(cookie=cookie, authorization="Basic eDp5")).status == 401


async def test_two_cookies_of_our_name_are_none(door: Door) -> None:
    cookie = await door.sign_in()
    other = await door.sign_in()
    both = f"__Host-fencepost={cookie}; __Host-fencepost={other}"
    assert (await ask(door.app, "GET", "/x", token=None, headers={"cookie": both})).status == 401


async def test_an_expired_token_is_refused(door: Door) -> None:
    made = await door.token(lasts_s=60)
    shown = made.credential.reveal()
    door.house.clock.advance(58)
    assert (await door.get(token=shown)).status == 200
    door.house.clock.advance(2)
    assert (await door.get(token=shown)).problem == "unauthorized", "although it was believed a moment ago"


async def test_a_revoked_token_is_out_within_seconds(door: Door) -> None:
    made = await door.token()
    shown = made.credential.reveal()
    assert (await door.get(token=shown)).status == 200
    await credentials.revoke(door.verbs, made.record.token_id)
    door.house.clock.advance(BELIEVED_S)
    assert (await door.get(token=shown)).problem == "unauthorized"
    assert BELIEVED_S <= 5


async def test_a_rotated_token_is_good_for_the_overlap_and_its_successor_at_once(door: Door) -> None:
    made = await door.token()
    new = await credentials.rotate(door.verbs, made.record.token_id, overlap_s=60)
    assert (await door.get(token=new.credential.reveal())).status == 200
    assert (await door.get(token=made.credential.reveal())).status == 200
    door.house.clock.advance(60)
    assert (await door.get(token=made.credential.reveal())).status == 401
    assert (await door.get(token=new.credential.reveal())).status == 200


async def test_the_store_is_not_asked_for_every_request(door: Door) -> None:
    made = await door.token()
    for _ in range(20):
        assert (await door.get(token=made.credential.reveal())).status == 200
    assert door.house.store.names().count("access.find_token") == 1
    assert door.house.store.names().count("access.note_use") == 1
    door.house.clock.advance(61)
    await door.get(token=made.credential.reveal())
    assert door.house.store.names().count("access.note_use") == 2


async def test_a_token_that_is_made_just_now_is_not_unknown_for_a_while(door: Door) -> None:
    made = await door.token()
    shown = made.credential.reveal()
    tokens = door.house.memory.memory.kept(TOKENS)
    row = tokens.set((made.record.token_id,), None)
    assert (await door.get(token=shown)).status == 401
    tokens.set((made.record.token_id,), row)
    assert (await door.get(token=shown)).status == 200


async def test_a_use_that_cannot_be_written_down_costs_nobody_their_request(door: Door) -> None:
    made = await door.token()
    door.house.store.fail_before("access.note_use")
    assert (await door.get(token=made.credential.reveal())).status == 200


async def test_a_store_that_is_away_is_said_so(door: Door) -> None:
    made = await door.token()
    door.house.store.fail_before("access.find_token")
    assert (await door.get(token=made.credential.reveal())).problem == "store-unavailable"


async def test_every_refusal_looks_the_same(door: Door) -> None:
    revoked, expired = await door.token(), await door.token(lasts_s=1)
    await credentials.revoke(door.verbs, revoked.record.token_id)
    door.house.clock.advance(1)
    shown = [
        "x",
        TOKEN_OF_NOBODY,
        revoked.credential.reveal(),
        expired.credential.reveal(),
        revoked.credential.reveal()[:-1],
    ]
    answers = [await door.get(token=one) for one in shown]
    assert len({(one.status, one.content, str(one.headers)) for one in answers}) == 1
    elsewhere = [await door.get(path, token="x") for path in ("/", "/nothing", "/api/v1/runs", "/metrics")]
    assert {(one.status, one.content) for one in elsewhere} == {(401, answers[0].content)}


async def test_who_shows_a_token_hears_that_it_is_the_wrong_one(door: Door) -> None:
    wrong, none = await door.get(token=TOKEN_OF_NOBODY), await door.get()
    assert wrong.body["detail"] == "this token is not known here, or has ended"
    other = await door.get(authorization="Basic eDp5")
    for one in (none, other, await door.get(authorization="Bearer ")):
        assert one.body["detail"] == "show a token: Authorization: Bearer TOKEN"
    assert (wrong.status, str(wrong.headers["www-authenticate"])) == (401, none.headers["www-authenticate"])


@pytest.mark.parametrize("path", sorted(OPEN_PATHS - WAYS))
async def test_open_paths_need_nothing_and_see_nobody(door: Door, path: str) -> None:
    assert (await door.get(path)).body == {"csrf": None, "body": ""}
    assert "name" not in (await door.get(path, token=TOKEN)).body


async def test_nobody_is_seen_whom_this_door_did_not_let_in(door: Door) -> None:
    """Whatever a layer before this one has left behind."""
    planted = Principal("eve", Role.ADMIN, EVERYWHERE, Came.SETTING, "setting")
    for path, status in (("/healthz", 200), ("/x", 401)):
        scope = {**scope_of("GET", path, {}), "state": {"principal": planted}}
        sent: list[Any] = []

        async def send(message: Any, sent: list[Any] = sent) -> None:
            sent.append(message)

        await door.app(scope, nothing_more, send)  # type: ignore[arg-type]
        assert sent[0]["status"] == status
        assert b"eve" not in sent[1]["body"]


async def nothing_more() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


@pytest.mark.parametrize(
    "path",
    [
        *("/static", "/static%2fx", "/staticx", "/Static/x", "//static/x", "/metrics", "/sign-out"),
        *("/sign-in/", "/sign-in/x", "/%73ign-in", "/healthz/x", "/", "/favicon.ico"),
    ],
)
async def test_what_only_looks_open_is_closed(door: Door, path: str) -> None:
    assert (await door.get(path)).problem == "unauthorized"


async def test_files_are_open_to_be_read_and_for_nothing_else(door: Door) -> None:
    assert (await door.get("/static/fencepost.css")).status == 200
    assert (await door.post("/static/fencepost.css")).problem == "unauthorized"


async def test_metrics_are_open_only_where_the_setting_says_so() -> None:
    assert (await Door().get("/metrics")).problem == "unauthorized"
    assert (await Door(metrics_open=True).get("/metrics")).status == 200


async def test_a_websocket_is_closed_whatever_it_shows(door: Door) -> None:
    sent = []

    async def send(message: object) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/x", "raw_path": b"/x", "headers": [], "state": {}}
    await door.app(scope, None, send)  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": "no credential"}]


async def test_whoever_was_let_in_is_seen_to_be_out_again(door: Door) -> None:
    made = await door.token()
    seen = (await door.get(token=made.credential.reveal())).body
    principal = Principal(seen["name"], Role(seen["role"]), Namespace("default"), Came.TOKEN, seen["id"])
    assert await door.doorkeeper.still_good(principal)
    await credentials.revoke(door.verbs, made.record.token_id)
    door.house.clock.advance(BELIEVED_S)
    assert not await door.doorkeeper.still_good(principal)


async def test_a_stream_ends_within_seconds_of_a_revocation(door: Door) -> None:
    """A route without an end asks what it was handed with the request."""
    lengths: list[int] = []

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        lines = 0
        while lines < 100 and await scope["state"]["still_good"]():
            lines += 1
            if lines == 5:
                await credentials.revoke(door.verbs, made.record.token_id)
            door.house.clock.advance(1)
        lengths.append(lines)
        await probe(scope, receive, send)

    made = await door.token()
    await ask(Guarded(stream, door.doorkeeper), "GET", "/stream", token=made.credential.reveal())
    assert 5 <= lengths[0] <= 5 + BELIEVED_S


async def test_asking_whether_somebody_may_stay_is_cheap_and_closed_without_a_store(door: Door) -> None:
    made = await door.token()
    principal = Principal("ci", Role.VIEWER, Namespace("default"), Came.TOKEN, made.record.token_id)
    assert all([await door.doorkeeper.still_good(principal) for _ in range(200)])
    assert door.house.store.names().count("access.find_token") == 1
    door.house.clock.advance(BELIEVED_S)
    door.house.store.fail_before("access.find_token")
    assert not await door.doorkeeper.still_good(principal)
    assert await door.doorkeeper.still_good(principal)
    setting = Principal("FENCEPOST_TOKEN", Role.ADMIN, EVERYWHERE, Came.SETTING, "setting")
    assert await door.doorkeeper.still_good(setting)


async def test_a_browser_is_sent_to_sign_in_and_a_program_is_not(door: Door) -> None:
    answer = await door.get("/runs?state=dead&text=a%20b", **PAGE)
    assert answer.status == 303
    assert answer.headers["location"] == "/sign-in?next=%2Fruns%3Fstate%3Ddead%26text%3Da%2520b"
    assert (await door.get("/", **PAGE)).headers["location"] == "/sign-in"
    assert (await door.get("/api/v1/runs", **PAGE)).problem == "unauthorized"
    assert (await door.get("/runs", accept="application/json")).problem == "unauthorized"
    post = await ask(door.app, "POST", "/runs", token=None)
    assert post.problem == "unauthorized"


@pytest.mark.parametrize(
    ("referer", "there"),
    [
        ("http://127.0.0.1:8580/schedules/a?span=7d", "/sign-in?next=%2Fschedules%2Fa%3Fspan%3D7d"),
        ("https://127.0.0.1:8580/runs", "/sign-in?next=%2Fruns"),
        ("http://127.0.0.1:8580/", "/sign-in"),
        (None, "/sign-in"),
        ("http://127.0.0.1:8580//evil.example/x", "/sign-in"),
        ("http://evil.example/schedules/a", "/sign-in"),
        ("http://127.0.0.1:9999/schedules/a", "/sign-in"),
        ("/schedules/a", "/sign-in"),
        ("http://[nowhere", "/sign-in"),
    ],
)
async def test_a_form_of_an_ended_session_leads_back_to_its_page(
    referer: str | None, there: str, door: Door
) -> None:
    """Where it was sent to takes no GET, and where another server has a page is none of ours."""
    said = {"host": "127.0.0.1:8580", **({} if referer is None else {"referer": referer})}
    headers = {**PAGE, "sec-fetch-site": "same-origin", **said}
    answer = await ask(door.app, "POST", "/do/schedules.pause", token=None, headers=headers)
    assert (answer.status, answer.headers["location"]) == (303, there)


async def test_whoever_follows_a_link_from_elsewhere_is_sent_on_once_by_ourselves(door: Door) -> None:
    followed = {**PAGE, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    answer = await door.get('/runs?text="><b>', **{**followed, "sec-fetch-site": "cross-site"})
    assert answer.status == 200
    assert b"<b>" not in answer.content
    answer = await door.get("/runs?a=1&b=2", **{**followed, "sec-fetch-site": "cross-site"})
    assert b'content="0; url=/runs?a=1&amp;b=2"' in answer.content
    answer = await door.get("/runs", **{**followed, "sec-fetch-site": "same-origin"})
    assert answer.status == 303


async def test_a_store_that_fails_is_not_taken_for_a_refusal(door: Door) -> None:
    cookie = await door.sign_in()
    door.house.store.fail_before("access.find_session")
    answer = await door.get(cookie=cookie)
    assert (answer.status, answer.problem) == (503, "store-unavailable")
