"""Nothing that people, jobs, workers or addresses say becomes markup: every page, every field.

`test_hostile` of the dashboard looks at pages that are made of rows; here what is hostile comes in by the
API, as an attacker would send it, and every page of the registry is looked at, later ones as well.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node, NodeReport
from fencepost.web.application import operations
from fencepost.web.dashboard.page import all_pages
from tests.web.attacks.stage import PAGE, Stage, in_path
from tests.web.dashboard.reading import parsed
from tests.web.house import run_path
from tests.web.test_roles import body_of, place_of

MARK = "zqx"
"""In every hostile text; an element or the name of an attribute that holds it came from data."""
ATTACKS = (
    f"<{MARK} onload=alert(1)>",
    f'"><{MARK}><script>{MARK}()</script>',
    f"' {MARK}=1 autofocus onfocus={MARK}() x='",
    f"</title></textarea></script></style><{MARK}>",
    f"javascript:{MARK}()",
    f"{{{{ 7*7 }}}}{{% {MARK} %}}",
    f"<!--<{MARK}>--><![CDATA[<{MARK}>",
    f"&lt;{MARK}&gt;&#x3c;{MARK}>",
)
TEXT = " ".join(ATTACKS)
LEADS = ("href", "src", "action", "formaction", "xlink:href", "poster", "data")
RUNS = re.compile(r"^\s*(javascript|data|vbscript|https?|//)", re.IGNORECASE)


async def planted(stage: Stage, token: str) -> dict[str, str]:
    """Hostile text in every field that takes one; what is needed to find it again."""

    async def post(path: str, body: Any, method: str = "POST", **headers: str) -> Any:
        answer = await stage.ask(method, f"/api/v1{path}", body, token=token, **headers)
        assert answer.status == 200, (path, answer.content)
        return answer.body

    why = {"reason": TEXT[:900]}
    spec = {"job": "resize", "every": "1m", "labels": {"team": TEXT[:200], "x": ATTACKS[1]}, **why}
    await post("/schedules", {"schedule_id": "s", **spec, "payload": {TEXT: TEXT, "b": [TEXT, {TEXT: TEXT}]}})
    await post("/schedules/s", {"payload": {TEXT: f"{TEXT}2"}, **why}, "PATCH", if_match="*")
    await post("/calendars/c", {"weekend": ["sat"], "holidays": ["2026-12-25"], **why}, "PUT", if_match="*")
    await post("/schedules/s/pause", why)
    await post("/queues/slow/pause", why)
    for key, attack in enumerate(ATTACKS):
        await post(
            "/jobs/resize/enqueue",
            {"key": f"{key}{attack.replace('#', '')}", "payload": {"x": attack}, **why},
        )
    claims = (await post("/claims", {"worker": "w:1", "jobs": ["resize"], "limit": 8, "wait_s": 0}))["claims"]
    assert len(claims) == len(ATTACKS)
    for number, one in enumerate(claims):
        ticket = {"attempt": one["attempt"], "fence": one["fence"]}
        path = run_path(one["run_key"], "").removeprefix("/api/v1")
        await post(f"{path}heartbeat", {**ticket, "progress": 0.5, "note": TEXT[:200]})
        if number % 2:
            await post(f"{path}fail", {**ticket, "error": TEXT, "detail": TEXT, "permanent": True})
        elif number:
            await post(f"{path}complete", {**ticket, "result": {TEXT: TEXT}})
    made = await post("/tokens", {"name": TEXT[:100].strip(), "role": "viewer", **why})
    await post("/links", {"role": "viewer"})
    node = Node(NodeId(TEXT), TEXT, 7, True, True, (), 4)
    await stage.house.memory.nodes.beat(node, NodeReport(skew_s=3.0), 1e6)
    dead = claims[1]["run_key"]
    return {"schedule_id": "s", "run_key": dead, "job": "resize", "token_id": made["token_id"], "name": "c"}


def intruders(text: str) -> list[str]:
    """What of a page came from data and is no text."""
    page = parsed(text)
    found = [f"element {one.name}" for one in page.elements if MARK in one.name]
    found += [f"inline {one[:80]}" for one in page.inline]
    for one in page.elements:
        for name, value in one.attributes.items():
            if MARK in name or name.startswith("on") or name in ("style", "srcdoc"):
                found.append(f"{one.name} has {name}")
            if name in LEADS and RUNS.match(value):
                found.append(f"{one.name} leads to {value[:80]}")
    return found


def addresses(named: dict[str, str]) -> list[str]:
    """Every page, as it is and with hostile text in its address."""
    found = []
    for page in all_pages():
        path = hostile = page.path
        for name in page.in_path:
            path = path.replace(f"{{{name}}}", in_path(named.get(name, "1")))
            hostile = hostile.replace(f"{{{name}}}", in_path(TEXT))
        found += [path] + ([hostile] if page.in_path else [])
        found += [f"{path}?{field}={quote(TEXT)}" for field in page.query.__struct_fields__]
    found += [f"{path}?at=2026-03-01T12:01:00Z" for path in found if path.endswith("/why")]
    return [*found, f"/{in_path(TEXT)}", f"/do/{in_path(TEXT)}", f"/static/{in_path(TEXT)}"]


async def test_nothing_hostile_becomes_markup_on_any_page(stage: Stage) -> None:
    made = await stage.token(Role.ADMIN)
    named = await planted(stage, made.credential.reveal())
    cookie, _ = await stage.sign_in(made)
    wrong, shown = [], set()
    for path in addresses(named):
        answer = await stage.ask("GET", path, cookie=cookie, **PAGE)
        text = answer.content.decode()
        assert answer.status < 500, (path, answer.status)
        wrong += [(path[:100], one) for one in intruders(text)]
        shown |= {path} if MARK in text else set()
    assert wrong == []
    plain = {one for one in shown if MARK not in one}
    assert len(plain) >= 8, f"what is hostile is to be seen as text on many pages: {plain}"


async def test_nothing_hostile_that_is_posted_to_a_page_becomes_markup(stage: Stage) -> None:
    made = await stage.token(Role.ADMIN)
    named = await planted(stage, made.credential.reveal())
    cookie, csrf = await stage.sign_in(made)
    shown = set()
    for page in [one for one in all_pages() if one.posted]:
        path = page.path
        for name in page.in_path:
            path = path.replace(f"{{{name}}}", in_path(named.get(name, "1")))
        for field in page.query.__struct_fields__:
            text = (await stage.posted(path, {field: TEXT}, cookie, csrf)).content.decode()
            assert intruders(text) == [], (path, field)
            shown |= {(path, field)} if MARK in text else set()
        assert {(path, field) for field in page.posted} <= shown, "it is to be seen as text"
    assert shown != set()


async def test_what_a_form_says_back_is_text(stage: Stage) -> None:
    cookie, csrf = await stage.sign_in(await stage.token(Role.ADMIN, EVERYWHERE))
    for name in (
        "schedules.pause",
        "schedules.remove",
        "runs.cancel",
        "tokens.create",
        "gates.drop",
        "dead.replay",
    ):
        for confirmed in ("yes", "no"):
            fields = {TEXT: TEXT, "confirmed": confirmed, "schedule_id": TEXT, "name": TEXT[:90]}
            answer = await stage.form(name, {**fields, "back": f"/{TEXT}"}, cookie, csrf)
            assert answer.status < 500
            text = answer.content.decode()
            if answer.status == 303:
                told = answer.headers["set-cookie"].partition(";")[0]
                text = (await stage.ask("GET", "/", cookie=f"{cookie}; {told}", **PAGE)).content.decode()
                assert MARK in text, "the next page says what was wrong"
            assert intruders(text) == [], (name, confirmed)
    forged = await stage.ask("POST", "/do/schedules.pause", TEXT.encode(), cookie=cookie, **PAGE)
    assert intruders(forged.content.decode()) == []


async def test_the_sign_in_page_shows_nothing_of_its_address_as_markup(stage: Stage) -> None:
    for name in ("link", "next", "token", "refused"):
        text = (await stage.ask("GET", f"/sign-in?{name}={quote(TEXT)}", **PAGE)).content.decode()
        assert intruders(text) == [], name


async def test_answers_of_the_api_are_json_whatever_is_asked_for(stage: Stage) -> None:
    """A browser that opens one must not take it for a page, not even where it repeats what was asked."""
    token = (await stage.token(Role.ADMIN, EVERYWHERE)).credential.reveal()
    for one in operations():
        path = place_of(one, dict.fromkeys(one.in_path, TEXT))
        calls = [path, path + ("&" if "?" in path else "?") + f"{quote(ATTACKS[0], safe='')}={quote(TEXT)}"]
        for each in calls:
            body = body_of(one).replace(b'"wait_s": 20', b'"wait_s": 0')
            answer = await stage.ask(one.method, each, body, token=token, if_match="*", **PAGE)
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in ("application/json", "application/problem+json"), (one.name, kind)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.status < 500, (one.name, answer.content)
            assert isinstance(answer.body, dict)


def test_what_is_looked_for_is_found_where_it_is() -> None:
    for attack in ATTACKS[:4]:
        assert intruders(f"<title>{attack}</title><p title='{attack}'>{attack}</p>"), attack
    assert intruders(f"<a href='{ATTACKS[4]}'>x</a>")
    assert intruders("<p title='&lt;zqx&gt;'>&lt;zqx&gt;</p>") == []
