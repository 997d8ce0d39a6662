"""What is a secret is nowhere to be seen: not in answers, logs, the audit log or a repr. And the headers of
every answer."""

import io
import logging
from collections.abc import Iterator

import pytest

from fencepost.model.audit import LogFilter
from fencepost.operations import credentials
from fencepost.telemetry.logs import JsonFormatter, Log, PlainFormatter
from tests.services.house import NS
from tests.web.door import HERE, PAGE, Door
from tests.web.house import TOKEN, ask, scope_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture(params=[PlainFormatter, JsonFormatter])
def written(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """All that is written to the log, as it is written."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    logger = logging.getLogger("fencepost")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(before)


async def test_no_secret_is_seen_anywhere(written: io.StringIO) -> None:
    door = Door()
    made, link = await door.token(), await door.link()
    token = made.credential.reveal()
    cookie = await door.sign_in(link)
    csrf = (await door.get(cookie=cookie)).body["csrf"]
    answers = [
        await door.get(token=token),
        await door.get(token=token[:-1]),
        await door.get(token=TOKEN),
        await door.get(f"/runs?token={token}", cookie=token),
        await door.post("/sign-in", {"token": token[:-2] + "zz"}),
        await door.post("/sign-in", {"link": link}),
        await door.post("/sign-out", {"csrf": csrf}, cookie),
        await door.get(cookie=cookie),
    ]
    await credentials.rotate(door.verbs, made.record.token_id)
    log = await door.house.memory.audit_log.list(NS, LogFilter())
    shown = [repr(log), repr(door.house.settings), repr(door.doorkeeper), repr(made), written.getvalue()]
    shown += [one.content.decode() + str(one.headers) for one in answers]
    for secret in (token, link, cookie, TOKEN):
        for text in shown:
            assert secret.rpartition("_")[2] not in text
    assert "refused a credential" in written.getvalue()
    assert made.record.token_id in written.getvalue()


async def test_a_credential_that_gets_into_a_log_line_by_mistake_is_struck_out(written: io.StringIO) -> None:
    door = Door()
    token = (await door.token()).credential
    Log("web").error("a mistake", header=f"Bearer {token.reveal()}", setting=TOKEN)
    text = written.getvalue()
    assert "a mistake" in text
    assert token.reveal().rpartition("_")[2] not in text
    assert TOKEN not in text
    assert token.credential_id in text


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        pytest.param("/x", TOKEN, 200, id="an answer"),
        pytest.param("/x", None, 401, id="a refusal"),
        pytest.param("/healthz", None, 200, id="health"),
        pytest.param("/sign-in", None, 200, id="the sign-in page"),
        pytest.param("/static/x.css", None, 200, id="a file"),
    ],
)
async def test_every_answer_says_what_a_browser_may_do_with_it(
    path: str, token: str | None, status: int
) -> None:
    answer = await Door().get(path, token=token)
    assert answer.status == status
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["referrer-policy"] == ("no-referrer" if path == "/sign-in" else "same-origin")
    kept = "public, max-age=60" if path.startswith("/static/") else "no-store"
    assert answer.headers["cache-control"] == kept
    assert "strict-transport-security" not in answer.headers


async def test_redirects_refused_forms_and_too_many_requests_are_dressed_too() -> None:
    door = Door(requests_per_s=0.1, requests_burst=1)
    cookie = await door.sign_in()
    answers = [
        await door.get("/", **PAGE),
        await door.post("/x", {}, cookie),
        await door.get(cookie=cookie),
        await ask(door.app, "POST", "/x", b"x" * 300_000, TOKEN, headers=HERE),
    ]
    assert [one.status for one in answers] == [303, 403, 429, 413]
    for one in answers:
        assert one.headers["content-security-policy"] == POLICY
        assert one.headers["cache-control"] == "no-store"


async def test_with_tls_a_browser_is_told_to_stay_with_it() -> None:
    door = Door()
    sent = []

    async def send(message: object) -> None:
        sent.append(message)

    async def receive() -> object:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {**scope_of("GET", "/x", {}), "scheme": "https"}
    await door.app(scope, receive, send)  # type: ignore[arg-type]
    assert (b"strict-transport-security", b"max-age=31536000") in sent[0]["headers"]  # type: ignore[index]
