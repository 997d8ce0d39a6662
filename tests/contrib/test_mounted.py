"""The dashboard and the API inside FastAPI, Starlette and Django: behind their sign-in, under a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import SIGTERM
from tests.contrib.hosts import PEOPLE, UNDER, Host, create_people, events, furnish, host, post
from tests.contrib.projects import shop

LINK = re.compile(r'\s(href|src|action|formaction)="([^"]*)"')
CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
SOME_PATHS = ("/", "/runs", "/schedules/tidy", "/nothing", "/api/v1/schedules", "/api/v1/events", "/metrics")
NOT_OURS = ("/healthz", "/readyz", "/sign-in", "/sign-out")


@pytest.fixture(
    scope="module",
    params=["fastapi", "starlette", pytest.param("django", marks=pytest.mark.postgres)],
)
def there(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    kind: str = request.param
    if find_spec(kind) is None:
        pytest.skip(f"needs {kind}: pip install {kind}")
    project, url = None, f"sqlite:///{tmp_path_factory.mktemp(kind) / 'jobs.db'}"
    if kind == "django":
        url = request.getfixturevalue("shared_postgres_url")
        project = shop(url)
        project.manage("migrate", "-v", "0")
        create_people(project)
    furnish(url)
    with host(kind, url, project) as made:
        yield made


def test_a_stranger_is_sent_to_the_sign_in_of_the_host(there: Host) -> None:
    with there.client() as client:
        answer = client.get(f"{UNDER}/runs?text=a%20b")
        if there.kind == "starlette":
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Basic realm="shop"')
            return
        login = "/login" if there.kind == "fastapi" else "/admin/login/"
        assert answer.status_code == 303
        assert answer.headers["location"] == f"{login}?next=%2Fops%2Ffencepost%2Fruns%3Ftext%3Da%2520b"
        for path in SOME_PATHS:
            assert client.get(UNDER + path, headers={"accept": "*/*"}).status_code == 401


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_user_without_a_role_sees_nothing(there: Host, accept: str) -> None:
    with there.client("cleo") as client:
        for path in (*SOME_PATHS, *NOT_OURS):
            answer = client.get(UNDER + path, headers={"accept": accept})
            assert answer.status_code == 403
            assert "tidy" not in answer.text
        assert post(client, f"{UNDER}/do/schedules.pause", {"schedule_id": "tidy"}).status_code == 403


def test_every_link_of_every_page_stays_under_the_path(there: Host) -> None:
    with there.client("anna") as client:
        waiting, seen = [f"{UNDER}/"], set[str]()
        while waiting:
            path = waiting.pop()
            seen.add(path.partition("?")[0])
            answer = client.get(path)
            assert answer.status_code == 200, path
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            found = [(kind, unescape(link)) for kind, link in LINK.findall(answer.text)]
            assert [link for _, link in found if not link.startswith((f"{UNDER}/", "#"))] == []
            known = seen | {one.partition("?")[0] for one in waiting}
            for kind, link in found:
                if kind in ("href", "src") and link[0] == "/" and link.partition("?")[0] not in known:
                    known.add(link.partition("?")[0])
                    waiting.append(link)
        assert {f"{UNDER}/", f"{UNDER}/runs", f"{UNDER}/schedules/tidy", f"{UNDER}/tokens"} <= seen


def test_the_path_without_its_last_slash_leads_to_the_overview(there: Host) -> None:
    with there.client("anna") as client:
        answer = client.get(UNDER, follow_redirects=True)
        assert answer.status_code == 200
        assert "<h1>Overview" in answer.text


def test_a_form_changes_something_in_the_name_of_the_user(there: Host) -> None:
    with there.client("anna") as client:
        fields = {"schedule_id": "tidy", "csrf": secret_of(client), "back": "/schedules/{schedule_id}"}
        answer = post(client, f"{UNDER}/do/schedules.pause", fields)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{UNDER}/schedules/tidy")
        assert "paused" in client.get(answer.headers["location"]).text
        assert post(client, f"{UNDER}/do/schedules.resume", fields).status_code == 303
    entry = called_json("log", "--store", there.url)[0]
    assert (entry["author"], entry["credential"], entry["action"]) == ("anna", "host:anna", "schedule.resume")


def test_a_viewer_changes_nothing(there: Host) -> None:
    with there.client("ben") as client:
        fields = {"schedule_id": "tidy", "csrf": secret_of(client)}
        assert post(client, f"{UNDER}/do/schedules.pause", fields).status_code == 403
        api = post(client, f"{UNDER}/api/v1/schedules/tidy/pause", fields, x_csrf_token=fields["csrf"])
        assert api.status_code == 403
        assert client.get(f"{UNDER}/tokens").status_code == 403
        assert client.get(f"{UNDER}/api/v1/whoami").json()["role"] == PEOPLE["ben"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://evil.test", "sec_fetch_site": "cross-site"},
        {"origin": "https://evil.test"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_form_of_another_site_changes_nothing(there: Host, wrong: dict[str, str]) -> None:
    with there.client("anna") as client:
        fields = {"schedule_id": "tidy", "csrf": secret_of(client)}
        assert post(client, f"{UNDER}/do/schedules.pause", fields, **wrong).status_code == 403


@pytest.mark.parametrize("shown", ["", "0" * 64])
def test_a_form_without_the_secret_of_the_user_changes_nothing(there: Host, shown: str) -> None:
    with there.client("anna") as client, there.client("ben") as other:
        secret_of(client)
        for secret in (shown, secret_of(other)):
            fields = {"schedule_id": "tidy", "csrf": secret}
            assert post(client, f"{UNDER}/do/schedules.pause", fields).status_code == 403


def test_cookies_are_sent_to_no_other_part_of_the_host(there: Host) -> None:
    with there.client("anna") as client:
        answer = post(client, f"{UNDER}/namespace", {"namespace": "other", "csrf": secret_of(client)})
        assert answer.status_code == 303
        ours = [one for one in client.cookies.jar if one.name.startswith("fencepost_")]
        assert {one.name for one in ours} == {"fencepost_forms", "fencepost_namespace"}
        assert {one.path for one in ours} == {UNDER}


def test_programs_come_in_with_a_token_of_the_store(there: Host) -> None:
    token = called("token", "create", "ci", "--role", "operator", "--store", there.url).strip()
    listed = called_json("schedules", "list", "--server", f"{there.address}{UNDER}", "--token", token)
    assert [one["schedule_id"] for one in listed] == ["tidy"]
    with there.client() as client:
        shown = {"authorization": f"Bearer {token[:-1]}{'0' if token[-1] != '0' else '1'}"}
        assert client.get(f"{UNDER}/api/v1/status", headers=shown).status_code == 401


def test_a_live_stream_tells_and_does_not_keep_the_host_from_stopping(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    furnish(url)
    for kind in ("fastapi", "starlette"):
        with host(kind, url) as made, made.client("ben") as client:
            told = events(made, client)
            assert next(told) == "counts"
            made.process.signal(SIGTERM)
            assert list(told) is not None
            assert made.process.ended() in (0, -SIGTERM), made.process.said
            assert "Traceback" not in made.process.said


def secret_of(client: httpx.Client) -> str:
    """What the forms of this user carry."""
    found = CSRF.search(client.get(f"{UNDER}/schedules/tidy").text)
    if found is None:
        return ""
    return found[1]
