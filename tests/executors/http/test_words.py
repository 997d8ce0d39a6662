"""The words of an HTTP job: in `fencepost.toml`, in Python, and how a mistake in them is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost import Every, Fencepost, Retry
from fencepost.errors import InvalidPayload, InvalidSpec, UsageError
from fencepost.executors.http import http_call
from fencepost.executors.http.executor import HttpExecutor
from fencepost.manifest import load
from fencepost.model.identifiers import JobName, RunKey
from fencepost.model.run import RunState
from tests.executors.http.servers import said, served
from tests.integration.waiting import until

FULL = """
store = "sqlite:///here.db"

[jobs.ping]
timeout = "1m"
delivery = "at_most_once"

[jobs.ping.http]
url = "https://example.org/hook?a=1"
method = "put"
headers = { X-Team = "ops", Authorization = "env:TOKEN" }
body = { text = "{who.name} is late", n = 1 }
success = ["2xx", 409]
secret = ["env:NEW", "file:/run/secrets/old"]
deadline = "10s"
answer_max = "2KiB"
allow_private = false
ports = [443]
schemes = ["https"]
redirects = 2

[schedules.beat]
job = "ping"
every = "1h"
payload = { who = { name = "everybody" } }
"""


def loaded(tmp_path: Path, text: str) -> Fencepost:
    file = tmp_path / "jobs.toml"
    file.write_text(text)
    return load(str(file), {})


def test_a_file_may_say_everything(tmp_path: Path) -> None:
    job = loaded(tmp_path, FULL).jobs[JobName("ping")]
    assert isinstance(job.executor, HttpExecutor)
    assert job.spec.at_most_once
    assert [one.name for one in job.spec.parameters] == ["who"]
    call = job.executor._call
    assert (call.method, call.redirects, call.answer_bytes_max) == ("PUT", 2, 2_048)
    assert call.deadline.total_seconds() == 10
    assert 409 in call.success
    assert 404 not in call.success
    assert [one.text for one in call.secrets] == ["env:NEW", "file:/run/secrets/old"]


PING = '[jobs.ping]\nhttp = { url = "https://example.org/" }\n'

REFUSED = [
    ("[jobs.ping]\nhttp = { }", "[jobs.ping.http] url is missing; write for example: http = { url ="),
    ("[jobs.ping]\nhttp = 5", "[jobs.ping] http = 5: expected a table"),
    ("[jobs.ping]\ntimeout = 5", "[jobs.ping] command is missing"),
    (f'{PING}command = ["true"]', "[jobs.ping] command stands beside http; a job does one thing"),
    (f"{PING}environment = {{ A = '1' }}", "[jobs.ping] environment stands beside http"),
    ("URL, methd = 'GET'", "[jobs.ping.http] methd is unknown; did you mean method?"),
    ("URL, method = 'TRACE'", '[jobs.ping.http]: method: "TRACE": expected one of DELETE, GET'),
    ("URL, method = 5", "[jobs.ping.http]: method: 5: expected one of"),
    ("URL, method = 'GET', body = {a = 1}", "[jobs.ping.http]: body: a GET has none"),
    ("URL, body = {a = 2026-01-01}", "[jobs.ping.http]: body: cannot be written as JSON"),
    ("URL, headers = {a = 1}", "[jobs.ping.http]: headers: a: expected up to"),
    ("URL, headers = 'a'", "[jobs.ping.http]: headers: expected names and texts, not str"),
    ("URL, success = '2xx'", '[jobs.ping.http]: success: "2xx": expected a list'),
    ("URL, success = []", "[jobs.ping.http]: success: []: expected a list such as"),
    ("URL, success = [99]", "[jobs.ping.http]: success: 99: expected a code"),
    ("URL, success = ['9xx']", '[jobs.ping.http]: success: "9xx": expected a code'),
    ("URL, success = [true]", "[jobs.ping.http]: success: True: expected a code"),
    ("URL, secret = 'hunter2'", "[jobs.ping.http]: secret: expected where it is kept"),
    ("URL, secret = 'env:'", "[jobs.ping.http]: secret: expected where it is kept"),
    ("URL, secret = 'file:relative'", "[jobs.ping.http]: secret: expected where it is kept"),
    ("URL, secret = []", '[jobs.ping.http]: secret: expected "env:NAME"'),
    ("URL, deadline = '0s'", "[jobs.ping.http]: deadline: 0s: expected more than nothing and at most 1h"),
    ("URL, deadline = '2h'", "[jobs.ping.http]: deadline: 2h: expected more than nothing"),
    ("URL, deadline = 'soon'", '[jobs.ping.http]: duration "soon": expected'),
    ("URL, answer_max = '1GB'", '[jobs.ping.http]: answer_max: "1GB": the ledger keeps at most 65536'),
    ("URL, answer_max = 'big'", '[jobs.ping.http]: size "big": expected bytes such as'),
    ("URL, allow_private = 'yes'", '[jobs.ping.http]: allow_private: "yes": expected true or false'),
    ("URL, ports = 443", "[jobs.ping.http]: ports: 443: expected a list"),
    ("URL, ports = []", "[jobs.ping.http]: ports: []: expected a list of port numbers"),
    ("URL, ports = [0]", "[jobs.ping.http]: ports: [0]: expected a list of port numbers"),
    ("URL, schemes = ['ftp']", "[jobs.ping.http]: schemes: ['ftp']: expected"),
    ("URL, redirects = 11", "[jobs.ping.http]: redirects: 11: expected 0 (none) to 10"),
    ("URL, redirects = true", "[jobs.ping.http]: redirects: True: expected 0"),
    ("url = 'https://example.org/{id}'", "[jobs.ping.http]: url: holds {; a URL is sent as it stands"),
    ("url = 'https://münchen.test/'", "[jobs.ping.http]: url: holds U+00FC; write a host as it is looked up"),
    ("url = 'https://e.test/a b'", "[jobs.ping.http]: url: holds U+0020; write it as %20"),
    ("url = '/hook'", "[jobs.ping.http]: url: expected a whole address"),
    ("url = 5", "[jobs.ping.http]: url: expected a text"),
    ("url = 'http://example.org/'", '[jobs.ping.http]: url: scheme http is not in schemes = ["https"]'),
    ("url = 'https://10.0.0.1/'", "[jobs.ping.http]: 10.0.0.1 is at 10.0.0.1, which is private; where that"),
    ("url = 'https://169.254.169.254/', allow_private = true", "169.254.169.254, which is link-local"),
]


@pytest.mark.parametrize(("text", "line"), REFUSED)
def test_a_mistake_is_one_clear_line(text: str, line: str, tmp_path: Path) -> None:
    inner = text.replace("URL", "url = 'https://example.org/'")
    with pytest.raises(UsageError) as caught:
        loaded(tmp_path, inner if inner.startswith("[") else f"[jobs.ping]\nhttp = {{ {inner} }}")
    said_so = str(caught.value)
    assert line in said_so
    assert said_so.startswith(str(tmp_path))
    assert "\n" not in said_so
    assert "hunter2" not in said_so


def test_a_schedule_whose_payload_lacks_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPayload, match="'who' is missing"):
        loaded(tmp_path, FULL.replace("payload = { who", "payload = { whom"))
    with pytest.raises(InvalidPayload, match=r"'who\.name' is missing"):
        loaded(tmp_path, FULL.replace("payload = { who = { name", "payload = { who = { nom"))


def test_plain_http_is_said_or_private() -> None:
    assert http_call("http://hook.test/", allow_private=True).guard.schemes == ("https", "http")
    assert http_call("http://hook.test/", schemes=["http"]).guard.schemes == ("http",)


def test_a_mistake_in_python_names_the_job() -> None:
    app = Fencepost("sqlite:///unused.db")
    with pytest.raises(InvalidSpec, match="job ping: url: scheme http is not in"):
        app.add_http("ping", "http://example.org/")
    with pytest.raises(InvalidSpec, match=r"job ping: unknown word 'methd'; did you mean method\?"):
        app.add_http("ping", "https://example.org/", methd="GET")  # type: ignore[call-arg]


async def test_an_application_calls_and_the_ledger_shows_it(tmp_path: Path) -> None:
    async with served(said(503, headers=[("Retry-After", "0")]), said(200, b"pong")) as server:
        app = Fencepost(f"sqlite:///{tmp_path}/app.db", poll_s=0.2)
        app.add_http(
            "ping",
            f"http://127.0.0.1:{server.port}/hook",
            body={"id": "{id}"},
            retry=Retry(base="10ms", cap="10ms"),
            allow_private=True,
            ports=[server.port],
        )
        app.add_schedule("beat", job="ping", trigger=Every("1h"), payload={"id": 7})
        async with app, app.running():
            key = await app.enqueue("ping", id=9, key="nine")
            store = await app.open()
            await until(lambda: has_succeeded(app, key))
            attempts = await store.ledger.attempts(app.settings.namespace, key)
    assert [request.headers["fencepost-attempt"] for request in server.requests] == ["1", "2"]
    assert {request.headers["idempotency-key"] for request in server.requests} == {"ping#nine"}
    assert server.requests[0].body == b'{"id":9}'
    assert [attempt.output for attempt in attempts] == [None, "pong"]


async def has_succeeded(app: Fencepost, key: RunKey) -> bool:
    run = await (await app.open()).ledger.get(app.settings.namespace, key)
    return run is not None and run.state is RunState.SUCCEEDED
