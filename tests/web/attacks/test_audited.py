"""The audit log says by which credential a change was made, whatever its name is."""

from __future__ import annotations

from fencepost.model.access import EVERYWHERE, Role
from tests.web.attacks.stage import Stage
from tests.web.door import HERE
from tests.web.house import TOKEN

LOG = "/api/v1/log"
PAUSE = "/api/v1/queues/{}/pause"
FORM = {name.replace("-", "_"): value for name, value in HERE.items()}


async def newest(stage: Stage) -> tuple[str, str | None]:
    entry = (await stage.ask("GET", f"{LOG}?action=freeze", token=TOKEN)).body["items"][0]
    return entry["author"], entry["credential"]


async def test_a_token_does_not_act_without_its_id(stage: Stage) -> None:
    made = await stage.token(Role.OPERATOR)
    await stage.ask("POST", PAUSE.format("mail"), {}, token=made.credential.reveal())
    assert await newest(stage) == (made.record.name, made.record.token_id)


async def test_a_session_does_not_hide_the_token_that_it_was_opened_with(stage: Stage) -> None:
    made = await stage.token(Role.OPERATOR)
    cookie, csrf = await stage.sign_in(made)
    headers = {**FORM, "x_csrf_token": csrf, "content_type": "application/json"}
    answer = await stage.ask("POST", PAUSE.format("mail"), {}, cookie=cookie, **headers)
    assert answer.status == 200, answer.content
    assert await newest(stage) == (made.record.name, made.record.token_id)


async def test_the_setting_acts_under_an_id_that_no_token_has(stage: Stage) -> None:
    await stage.ask("POST", PAUSE.format("mail"), {}, token=TOKEN)
    assert await newest(stage) == ("FENCEPOST_TOKEN", "FENCEPOST_TOKEN")
    for name in ("FENCEPOST_TOKEN", "fencepost_token", "fencepost"):
        asked = {"name": name, "role": "operator"}
        answer = await stage.ask("POST", "/api/v1/tokens", asked, token=TOKEN)
        assert (answer.status, answer.problem) == (422, "refused"), name


async def test_entries_are_found_by_the_credential(stage: Stage) -> None:
    made = await stage.token(Role.OPERATOR, EVERYWHERE)
    await stage.ask("POST", PAUSE.format("mail"), {}, token=made.credential.reveal())
    await stage.ask("POST", PAUSE.format("slow"), {}, token=TOKEN)
    found = (await stage.ask("GET", f"{LOG}?by={made.record.token_id}", token=TOKEN)).body["items"]
    assert [one["subject"] for one in found] == ["queue mail"]


async def test_the_page_shows_the_credential(stage: Stage) -> None:
    made = await stage.token(Role.OPERATOR)
    await stage.ask("POST", PAUSE.format("mail"), {}, token=made.credential.reveal())
    cookie, _ = await stage.sign_in(made)
    page = await stage.ask("GET", "/log", cookie=cookie, accept="text/html")
    assert f'<a href="/log?by={made.record.token_id}">'.encode() in page.content
