"""Credentials that should not work, and what a stranger learns from their refusal."""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import urlencode

from fencepost.model.access import CredentialKind, Role, mint
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.web.auth.reading import COOKIE, FORM
from tests.services.house import NS
from tests.web.attacks.stage import BOSS, PAGE, Stage, everything
from tests.web.door import HERE
from tests.web.house import TOKEN, Answer, ask

HERE_ = {name.replace("-", "_"): value for name, value in HERE.items()}
WHO = "/api/v1/whoami"


async def test_a_session_ends_with_the_token_that_opened_it(stage: Stage) -> None:
    verbs = Control(stage.house.store, NS, BOSS)
    for end in (partial(credentials.revoke, verbs), partial(credentials.rotate, verbs)):
        token = await stage.token()
        cookie, csrf = await stage.sign_in(token)
        assert (await stage.ask("GET", WHO, cookie=cookie)).status == 200
        await end(token.record.token_id)
        stage.house.clock.advance(3)
        assert (await stage.ask("GET", WHO, cookie=cookie)).status == 401
        assert (await stage.form("schedules.pause", {"schedule_id": "x"}, cookie, csrf)).status == 401
        assert (await stage.ask("GET", "/", cookie=cookie, **PAGE)).headers["location"] == "/sign-in"


async def test_a_stream_ends_with_its_credential(stage: Stage) -> None:
    token = await stage.token(Role.VIEWER)
    cookie, _ = await stage.sign_in(token)
    headers = {"cookie": f"{COOKIE}={cookie}"}
    path, shown = "/api/v1/events", token.credential.reveal()
    streams = [asyncio.create_task(ask(stage.app, "GET", path, token=shown))]
    streams += [asyncio.create_task(ask(stage.app, "GET", path, token=None, headers=headers))]
    await listening(stage, 2)
    await stage.hub.run_once()
    await credentials.revoke(Control(stage.house.store, NS, BOSS), token.record.token_id)
    waited_s = 0
    while stage.hub._listeners and waited_s < 10:
        stage.house.clock.advance(1)
        waited_s += 1
        await stage.hub.run_once()
    assert not stage.hub._listeners
    assert all(one.status == 200 for one in await asyncio.wait_for(asyncio.gather(*streams), 30))
    assert (await stage.ask("GET", path, token=shown)).status == 401


async def test_streams_are_counted_by_credential(stage: Stage) -> None:
    token, gone = (await stage.token(Role.VIEWER)).credential.reveal(), asyncio.Event()
    most = stage.hub.pace.per_credential_max
    streams = [
        asyncio.create_task(ask(stage.app, "GET", "/api/v1/events", token=token, gone=gone))
        for _ in range(most)
    ]
    await listening(stage, most)
    answer = await stage.ask("GET", "/api/v1/events", token=token)
    assert (answer.status, answer.problem) == (429, "too-many-requests")
    gone.set()
    await asyncio.gather(*streams)
    assert not stage.hub._listeners


async def test_what_a_store_could_refuse_never_comes_to_the_look_that_all_streams_share(stage: Stage) -> None:
    token = (await stage.token(Role.VIEWER)).credential.reveal()
    for query in ("run=%00", "run=a%00b", f"run={'x' * 2_000}", "run=%ff", "a=1&" * 20, "namespace=%00"):
        asked = stage.ask("GET", f"/api/v1/events?{query}", token=token)
        answer = await asyncio.wait_for(asked, 10)
        assert (answer.status, answer.problem) == (422, "invalid"), query
    assert not stage.hub._listeners


async def test_a_credential_counts_only_where_it_belongs(stage: Stage) -> None:
    token = await stage.token()
    shown = token.credential.reveal()
    cookie, _ = await stage.sign_in(token)
    fields = {"token": shown, "access_token": shown, "api_key": shown, "authorization": f"Bearer {shown}"}
    tries: list[Answer] = [
        await stage.ask("GET", f"{WHO}?{urlencode(fields)}"),
        await stage.ask("GET", f"/api/v1/events?token={shown}"),
        await stage.ask("GET", WHO, cookie=shown),
        await stage.ask("GET", WHO, token=cookie),
        await stage.ask("GET", WHO, cookie=TOKEN),
        await stage.ask("GET", WHO, x_api_key=shown, x_auth_token=shown),
        await stage.ask("GET", WHO, authorization=f"Basic {shown}"),
        await stage.ask("GET", WHO, authorization=shown),
        await stage.ask("GET", WHO, authorization=f"Bearer {shown}, Bearer {shown}"),
        await stage.ask("POST", WHO, urlencode(fields).encode(), content_type=FORM),
        await stage.ask("GET", WHO, cookie=f"{cookie}; {COOKIE}={cookie}"),
        await stage.ask("GET", WHO, cookie=cookie, authorization="Bearer wrong"),
    ]
    assert [one.status for one in tries] == [401] * len(tries)


async def test_every_refusal_reads_the_same_and_costs_the_store_at_most_one_look(stage: Stage) -> None:
    token = await stage.token()
    revoked, expired = (
        await stage.token(),
        await credentials.create(Control(stage.house.store, NS, BOSS), "short", Role.VIEWER, lasts_s=1),
    )
    await credentials.revoke(Control(stage.house.store, NS, BOSS), revoked.record.token_id)
    stage.house.clock.advance(60)
    shown = token.credential.reveal()
    unknown = mint(CredentialKind.TOKEN, lambda size: bytes(size)).reveal()
    wrong = [shown[:-1] + ("0" if shown[-1] != "0" else "1"), revoked.credential.reveal()]
    wrong += [expired.credential.reveal(), unknown, shown[:-1], "x", shown.upper()]
    seen = set()
    for one in wrong:
        mark = stage.marked()
        answer = await stage.ask("GET", WHO, token=one)
        seen.add((answer.status, answer.content, tuple(sorted(answer.headers.items()))))
        assert stage.house.store.names()[mark:].count("access.find_token") <= 1
        assert stage.house.store.names()[mark:].count("access.find") <= 1
        assert "access.note_use" not in stage.house.store.names()[mark:]
    assert len(seen) == 1
    assert next(iter(seen))[0] == 401


async def test_a_session_that_somebody_else_chose_is_not_gone_on_with(stage: Stage) -> None:
    """An attacker plants their own cookie, or one that they made up; whoever signs in gets another."""
    planted, _ = await stage.sign_in(await stage.token(Role.VIEWER))
    made_up = mint(CredentialKind.SESSION, lambda size: b"\1" * size).reveal()
    victim = await stage.token(Role.ADMIN)
    for before in (planted, made_up, "x"):
        body = urlencode({"token": victim.credential.reveal(), "session": before}).encode()
        answer = await stage.ask("POST", "/sign-in", body, cookie=before, content_type=FORM, **HERE_)
        cookie = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        assert cookie != before
        who = await stage.ask("GET", WHO, cookie=before)
        assert who.status == 401 or who.body["role"] == "viewer"
        assert (await stage.ask("GET", WHO, cookie=cookie)).body["role"] == "admin"


async def test_a_cookie_that_was_copied_is_worth_nothing_after_signing_out(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token())
    answer = await stage.ask("POST", "/sign-out", b"", cookie=cookie, x_csrf_token=csrf, **HERE_)
    assert answer.status == 303
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert (await stage.ask("GET", WHO, cookie=cookie)).status == 401


async def test_nobody_else_keeps_an_answer_or_reads_it_as_something_else(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token())
    for method, path in everything(stage.serving):
        if path in ("/sign-out", "/api/v1/events", "/api/v1/claims"):
            continue
        answer = await stage.ask(method, path, b"", cookie=cookie, x_csrf_token=csrf, **HERE_, **PAGE)
        kept = path.startswith("/static/")
        assert kept or answer.headers["cache-control"] == "no-store", path
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert "default-src 'none'" in answer.headers["content-security-policy"], path
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers, path
        assert "server" not in answer.headers
        if path.startswith("/api/"):
            assert not answer.headers.get("content-type", "application/json").startswith("text/html"), path


async def test_one_who_guesses_does_not_lock_out_those_at_the_same_address(stage: Stage) -> None:
    """Behind a proxy everybody has one address; a person who looks once a minute is let in all the same."""
    token = await stage.token()
    shown, id_ = token.credential.reveal(), token.record.token_id
    cookie, _ = await stage.sign_in(token)
    assert (await stage.ask("GET", WHO, token=shown)).status == 200
    stage.house.clock.advance(60)
    for _ in range(20):
        await stage.ask("GET", WHO, token=f"fp_{id_}_{'0' * 64}")
    assert (await stage.ask("GET", WHO, token=f"fp_{id_}_{'0' * 64}")).status == 429
    assert (await stage.ask("GET", WHO, token=shown)).status == 200
    assert (await stage.ask("GET", WHO, cookie=cookie)).status == 200


async def listening(stage: Stage, number: int) -> None:
    """Until so many streams have begun."""
    for _ in range(10_000):
        if len(stage.hub._listeners) >= number:
            return
        await asyncio.sleep(0)
    raise AssertionError("the streams never began")
