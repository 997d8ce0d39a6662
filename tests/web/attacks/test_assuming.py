"""Nobody gives themselves what they were not given: fields that are nobody's to set, and credentials."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.audit import LogFilter
from fencepost.operations.operation import VERSION_FIELD
from fencepost.web.application import operations
from fencepost.web.dashboard.actions.operations import changes
from tests.services.house import NS
from tests.web.attacks.stage import ELSEWHERE, Stage, said_in
from tests.web.door import HERE
from tests.web.test_roles import body_of, place_of

NOBODYS: tuple[str, ...] = (
    "author",
    "by",
    "namespace",
    "state",
    "version",
    "role",
    "principal",
    "created_by",
    "number",
)
NOBODYS += ("credential_id", "fence", "epoch", "shard", "asked_at", "tzdata", "__class__", "token", "digest")
TOKENS = "/api/v1/tokens"
HERE_ = {name.replace("-", "_"): value for name, value in HERE.items()}


async def test_a_field_that_is_nobodys_to_set_is_refused_wherever_it_stands(stage: Stage) -> None:
    token = (await stage.token(Role.ADMIN, EVERYWHERE)).credential.reveal()
    passed = []
    for one in operations():
        known = {field.name for field in msgspec.structs.fields(one.request)}
        path = place_of(one, dict.fromkeys(one.in_path, "1"))
        headers = {"if_match": "*"} if VERSION_FIELD in known else {}
        body = json.loads(body_of(one) or b"{}")
        for name in (*NOBODYS, *one.in_path, VERSION_FIELD):
            if name in known and name not in (*one.in_path, VERSION_FIELD):
                continue
            given = path + ("&" if "?" in path else "?") + f"{name}=1"
            mark = stage.marked()
            answers = [
                await stage.ask(one.method, given, body if one.has_body else None, token=token, **headers)
            ]
            if one.has_body:
                answers.append(await stage.ask(one.method, path, {**body, name: "1"}, token=token, **headers))
            fine = all(each.status in (404, 422) for each in answers)
            passed += [] if fine else [(one.name, name, [each.status for each in answers])]
            assert stage.asked_since(mark) == set(), (one.name, name)
    assert passed == []


@pytest.mark.proof
async def test_a_form_says_no_more_than_its_operation_hears(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token(Role.ADMIN, EVERYWHERE))
    for name, one in changes().items():
        known = {field.name for field in msgspec.structs.fields(one.request)}
        for field in NOBODYS:
            if field not in known:
                said = said_in(await stage.form(name, {field: "1"}, cookie, csrf))
                assert said.refused, (name, field)
                assert f"{field}: there is no such field" in said.text, (name, field, said.text)


async def test_the_author_is_whoever_asked_whatever_they_say(stage: Stage) -> None:
    token = await stage.token(Role.OPERATOR)
    body = {"schedule_id": "mine", "job": "resize", "every": "1h", "reason": "by root, from root"}
    secret = token.credential.reveal()
    answer = await stage.ask(
        "POST", "/api/v1/schedules", body, token=secret, x_forwarded_for="1.2.3.4", x_user="root"
    )
    assert answer.status == 200
    entry = (await stage.house.memory.audit_log.list(NS, LogFilter()))[0]
    assert (entry.author.name, entry.author.source) == (token.record.name, "api from 127.0.0.1")


async def test_an_operator_makes_no_credentials_by_any_way(stage: Stage) -> None:
    for role in (Role.VIEWER, Role.OPERATOR):
        made = await stage.token(role)
        token, own = made.credential.reveal(), made.record.token_id
        cookie, csrf = await stage.sign_in(made)
        calls = [
            ("POST", TOKENS, {"name": "x", "role": "admin"}),
            ("POST", TOKENS, {"name": "x", "role": "viewer"}),
            ("POST", f"{TOKENS}/{own}/rotate", {}),
            ("DELETE", f"{TOKENS}/{own}", None),
            ("POST", "/api/v1/links", {"role": "viewer"}),
            ("GET", TOKENS, None),
            ("GET", "/api/v1/sessions", None),
        ]
        before = stage.house.store.names().count("access.add_token")
        for method, path, body in calls:
            assert (await stage.ask(method, path, body, token=token)).status == 403, (role, path)
            found = await stage.ask(method, path, body, cookie=cookie, x_csrf_token=csrf, **HERE_)
            assert found.status == 403, (role, path)
        for name in ("tokens.create", "tokens.rotate", "tokens.revoke", "links.open", "sessions.end"):
            assert (await stage.form(name, {"name": "x", "role": "admin"}, cookie, csrf)).status == 403
        assert stage.house.store.names().count("access.add_token") == before


async def test_an_admin_of_one_namespace_makes_nothing_that_is_good_elsewhere(stage: Stage) -> None:
    token = (await stage.token(Role.ADMIN)).credential.reveal()
    for where in (EVERYWHERE, ELSEWHERE):
        for path, body in ((TOKENS, {"name": "x", "role": "viewer"}), ("/api/v1/links", {})):
            answer = await stage.ask("POST", path, {**body, "namespace": where}, token=token)
            assert (answer.status, answer.problem) == (403, "forbidden"), (path, where)
    for odd in (" *", "*\n", "%2A", "", "default/../*", "**"):
        answer = await stage.ask(
            "POST", TOKENS, {"name": "x", "role": "viewer", "namespace": odd}, token=token
        )
        assert answer.status == 422, odd
    for headers in ({"fencepost_namespace": "*"}, {"fencepost_namespace": ELSEWHERE}):
        answer = await stage.ask("POST", TOKENS, {"name": "x", "role": "viewer"}, token=token, **headers)
        assert answer.status in (403, 404, 422) or answer.body["namespace"] == NS


async def test_an_admin_of_one_namespace_ends_nobody_of_another(stage: Stage) -> None:
    token = (await stage.token(Role.ADMIN)).credential.reveal()
    for where in (ELSEWHERE, EVERYWHERE):
        other = await stage.token(Role.VIEWER, where)
        cookie, _ = await stage.sign_in(other)
        session = (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).body["credential_id"]
        calls: list[tuple[str, str, Any]] = [
            ("POST", f"{TOKENS}/{other.record.token_id}/rotate", {}),
            ("DELETE", f"{TOKENS}/{other.record.token_id}", None),
            ("DELETE", f"/api/v1/sessions/{session}", None),
        ]
        for method, path, body in calls:
            answer = await stage.ask(method, path, body, token=token)
            assert (answer.status, answer.problem) == (404, "not-found"), path
        stage.house.clock.advance(10)
        assert (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 200
        assert other.record.token_id not in (await stage.ask("GET", TOKENS, token=token)).content.decode()
        sessions = (await stage.ask("GET", "/api/v1/sessions", token=token)).content.decode()
        assert session not in sessions


async def test_a_link_gives_no_more_than_it_was_made_for(stage: Stage) -> None:
    admin = (await stage.token(Role.ADMIN)).credential.reveal()
    made = await stage.ask("POST", "/api/v1/links", {"role": "viewer"}, token=admin)
    link = made.body["link"].rpartition("link=")[2]
    body = f"link={link}&role=admin&namespace=*".encode()
    opened = await stage.ask(
        "POST", "/sign-in", body, content_type="application/x-www-form-urlencoded", **HERE_
    )
    assert opened.status == 303
    cookie = opened.headers["set-cookie"].partition("=")[2].partition(";")[0]
    who = (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).body
    assert (who["role"], who["namespace"]) == ("viewer", NS)
    assert (await stage.ask("GET", "/tokens", cookie=cookie, accept="text/html")).status == 403
    again = await stage.ask(
        "POST", "/sign-in", body, content_type="application/x-www-form-urlencoded", **HERE_
    )
    assert again.status == 403, "and only once"
