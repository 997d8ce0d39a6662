"""A sign-in link is worth no more than what it was made with: it ends with the token; so does its session."""

from urllib.parse import urlencode

from fencepost.model.tables import LINKS, SESSIONS, TOKENS
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.web.auth.known import BELIEVED_S
from fencepost.web.auth.reading import FORM
from tests.rows import share
from tests.services.house import NS
from tests.services.verbs_work import ANNA
from tests.web.attacks.stage import PAGE, Stage, csrf_in
from tests.web.door import HERE, cookie_of
from tests.web.house import TOKEN, Answer, ask


async def test_neither_a_link_nor_its_session_outlives_the_token_that_it_was_made_with(stage: Stage) -> None:
    """Nor does a link that was made in such a session."""
    made = await stage.token(namespace=NS)
    opened, second = [await link_by(stage, token=made.credential.reveal()) for _ in range(2)]
    cookie = await signed_in(stage, opened)
    csrf = csrf_in((await stage.ask("GET", "/", cookie=cookie, **PAGE)).content.decode())
    third = await link_by(stage, cookie=cookie, x_csrf_token=csrf)
    assert (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 200
    await credentials.revoke(Control(stage.house.store, NS, ANNA), made.record.token_id)
    stage.house.clock.advance(BELIEVED_S)
    assert (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 401
    for link in (second, third):
        assert (await send_link(stage, link)).status == 403


async def test_a_link_by_a_setting_is_over_when_that_changes(stage: Stage) -> None:
    first, second = [await link_by(stage, token=TOKEN) for _ in range(2)]
    cookie = await signed_in(stage, first)
    other = Stage(token="another-token-of-32-characters-or-more")
    share(stage.house.memory, other.house.memory, TOKENS, SESSIONS, LINKS)
    assert (await other.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 401
    assert (await send_link(other, second)).status == 403
    assert (await stage.ask("GET", "/api/v1/whoami", cookie=cookie)).status == 200
    await signed_in(stage, second)


async def link_by(stage: Stage, **who: str) -> str:
    here = {name.replace("-", "_"): value for name, value in HERE.items()}
    answer = await stage.ask("POST", "/api/v1/links", {}, **who, **here)
    assert answer.status == 200, answer.content
    return str(answer.body["link"])


async def send_link(stage: Stage, link: str) -> Answer:
    body = urlencode({"link": link}).encode()
    return await ask(stage.app, "POST", "/sign-in", body, None, headers={"content-type": FORM, **HERE})


async def signed_in(stage: Stage, link: str) -> str:
    answer = await send_link(stage, link)
    assert answer.status == 303, answer.content
    return cookie_of(answer)
