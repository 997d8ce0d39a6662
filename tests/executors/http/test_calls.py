"""HTTP calls: what is sent, what an answer means, and how a call ends."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from fencepost.errors import InvalidPayload, PermanentFailure, RetryableFailure, RunFailure
from tests.executors.http.calls import at, calling
from tests.executors.http.servers import PATIENCE_S, Request, said, served
from tests.executors.runs import make_run

KEY = "beat#2026-03-01T12:00:00Z#3"


async def test_a_call_says_which_run_it_is() -> None:
    async with served(said(200, b"thanks")) as server:
        output = await at(server.port, "/hook?a=1").execute(make_run({"month": 3}))
    assert output == "thanks"
    (request,) = server.requests
    assert request.line == "POST /hook?a=1 HTTP/1.1"
    assert json.loads(request.body) == {"month": 3}
    about = {name: value for name, value in request.headers.items() if name.startswith("fencepost-")}
    assert about == {
        "fencepost-fence": "17",
        "fencepost-attempt": "2",
        "fencepost-fire-time": "2026-03-01T12:00:00Z",
    }
    assert request.headers["idempotency-key"] == KEY
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("fencepost/")
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert "webhook-signature" not in request.headers


async def test_stated_headers_are_sent_and_win() -> None:
    stated = {"X-Team": "ops", "content-type": "application/cloudevents+json", "user-agent": "beat"}
    async with served() as server:
        await at(server.port, headers=stated).execute(make_run())
    headers = server.requests[0].headers
    assert headers["x-team"] == "ops"
    assert headers["content-type"] == "application/cloudevents+json"
    assert headers["user-agent"] == "beat"
    assert server.requests[0].raw.lower().count(b"content-type") == 1


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
async def test_methods_without_a_body_send_no_payload(method: str) -> None:
    async with served(said(200)) as server:
        await at(server.port, method=method.lower()).execute(make_run({"month": 3}))
    (request,) = server.requests
    assert (request.method, request.body) == (method, b"")
    assert "content-type" not in request.headers


TEMPLATE = {
    "text": "Order {order.id} for {who}",
    "lines": ["{lines.0}", "{lines}"],
    "n": 1,
    "raw": "{{who}} {}",
}


async def test_a_template_is_filled_from_the_payload() -> None:
    payload = {"order": {"id": 7}, "who": 'A\r\nB"{n}', "lines": [{"a": None}, True]}
    async with served() as server:
        await at(server.port, body=TEMPLATE).execute(make_run(payload))
    assert json.loads(server.requests[0].body) == {
        "text": 'Order 7 for A\r\nB"{n}',
        "lines": [{"a": None}, [{"a": None}, True]],
        "n": 1,
        "raw": "{who} {}",
    }


async def test_values_within_a_text_are_written_as_json_has_them() -> None:
    payload = {"a": True, "b": None, "c": [1.5, "x"], "d": "plain"}
    async with served() as server:
        await at(server.port, body="{a} {b} {c} {d}").execute(make_run(payload))
    assert json.loads(server.requests[0].body) == 'true null [1.5,"x"] plain'


async def test_a_name_that_the_payload_lacks_is_refused_early_and_never_sent() -> None:
    async with served() as server:
        call = at(server.port, body={"id": "{order.id}"})
        assert call.names == ("order",)
        with pytest.raises(InvalidPayload, match=r"'order.id' is missing"):
            call.check({"order": {}})
        with pytest.raises(PermanentFailure, match=r"'order.id' is missing"):
            await call.execute(make_run({"order": [1]}))
    assert server.connections == 0


def test_a_payload_that_is_no_json_or_too_long_is_refused() -> None:
    call = at(80)
    call.check({"a": "\ud800"})
    for value in (float("nan"), "x" * 1_000_001):
        with pytest.raises(InvalidPayload):
            call.check({"a": value})


VERDICTS: list[tuple[int, dict[str, Any], type[RunFailure] | None]] = [
    (200, {}, None),
    (204, {}, None),
    (409, {"success": ["2xx", 409]}, None),
    (201, {"success": [200]}, PermanentFailure),
    (302, {}, PermanentFailure),
    (304, {}, PermanentFailure),
    (307, {"success": ["3xx"]}, None),
    (400, {}, PermanentFailure),
    (404, {}, PermanentFailure),
    (408, {}, RetryableFailure),
    (409, {}, PermanentFailure),
    (410, {}, PermanentFailure),
    (425, {}, RetryableFailure),
    (429, {}, RetryableFailure),
    (500, {}, RetryableFailure),
    (503, {}, RetryableFailure),
    (599, {}, RetryableFailure),
]


@pytest.mark.parametrize(("status", "words", "failure"), VERDICTS)
async def test_the_status_decides(
    status: int, words: dict[str, Any], failure: type[RunFailure] | None
) -> None:
    async with served(said(status)) as server:
        call = at(server.port, **words)
        if failure is None:
            assert await call.execute(make_run()) is None
        else:
            with pytest.raises(failure, match=f"HTTP {status}"):
                await call.execute(make_run())
    assert len(server.requests) == 1


async def test_a_redirect_that_counts_as_success_is_not_followed() -> None:
    async with served(said(302, headers=[("Location", "/elsewhere")])) as server:
        await at(server.port, success=[302], redirects=3).execute(make_run())
    assert [request.path for request in server.requests] == ["/hook"]


async def test_what_a_failing_target_says_is_kept_as_output_and_not_as_the_error() -> None:
    async with served(said(500, b"out of paper")) as server:
        with pytest.raises(RetryableFailure) as caught:
            await at(server.port).execute(make_run())
    assert str(caught.value) == "HTTP 500 Internal Server Error"
    assert caught.value.output == "out of paper"


WAITS = [
    ("120", timedelta(minutes=2)),
    ("Sun, 01 Mar 2026 12:01:07 GMT", timedelta(minutes=1)),
    ("Sun, 01 Mar 2026 11:00:00 GMT", timedelta()),
    ("99999999999999999999", timedelta(days=1)),
    ("-5", None),
    ("soon", None),
    ("1" * 4_000, None),
    ("0x10", None),
]


@pytest.mark.parametrize(("header", "wait"), WAITS)
@pytest.mark.parametrize("status", [429, 503, 500])
async def test_retry_after_is_heeded_where_it_makes_sense(
    status: int, header: str, wait: timedelta | None
) -> None:
    async with served(said(status, headers=[("Retry-After", header)])) as server:
        with pytest.raises(RetryableFailure) as caught:
            await at(server.port).execute(make_run())
    assert caught.value.retry_after == wait


async def test_no_connection_is_a_failure_to_retry() -> None:
    async with served() as server:
        port = server.port
    with pytest.raises(RetryableFailure, match="no connection: "):
        await at(port).execute(make_run())


async def test_a_name_that_cannot_be_looked_up_is_a_failure_to_retry() -> None:
    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError(-3, "Temporary failure in name resolution")

    with pytest.raises(RetryableFailure, match=r"hook\.test: cannot be looked up: Temporary failure"):
        await calling("https://hook.test/", resolve=nowhere).execute(make_run())


async def test_a_cancelled_call_closes_its_connection() -> None:
    async def silence(request: Request, writer: asyncio.StreamWriter) -> None:
        pass

    async with served(silence) as server:
        work = asyncio.create_task(at(server.port).execute(make_run()))
        await asyncio.wait_for(server.asked.wait(), PATIENCE_S)
        work.cancel()
        await asyncio.wait([work], timeout=PATIENCE_S)
        assert work.cancelled()
        await asyncio.wait_for(server.hung_up.wait(), PATIENCE_S)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_one_attempt_never_sends_twice(method: str) -> None:
    """The driver repeats what it holds to be idempotent when the connection breaks."""

    async def hang_up(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with served(hang_up) as server:
        with pytest.raises(RetryableFailure, match="closed the connection without an answer"):
            await at(server.port, method=method).execute(make_run())
        assert (len(server.requests), server.connections) == (1, 1)


async def test_many_calls_at_once_do_not_mix() -> None:
    async def echo(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(said(200, request.body))

    async with served(echo) as server:
        call = at(server.port)
        answers = await asyncio.gather(*(call.execute(make_run({"n": n})) for n in range(40)))
    assert [json.loads(answer or "") for answer in answers] == [{"n": n} for n in range(40)]


def test_importing_the_house_does_not_import_the_driver() -> None:
    code = (
        "import sys, fencepost.app, fencepost.manifest, fencepost.executors.http as http; http.verify;"
        "assert not {'aiohttp', 'yarl'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_driver_there_is_one_clear_line() -> None:
    code = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from fencepost import Fencepost\n"
        "from fencepost.errors import MissingExtra\n"
        "try: Fencepost().add_http('ping', 'https://example.org/')\n"
        "except MissingExtra as error: assert \"pip install 'fencepost[http]'\" in str(error)\n"
        "else: raise SystemExit('no refusal')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
