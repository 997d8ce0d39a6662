"""Applications that Fencepost is mounted in, as real processes, and how people sign in to each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from fencepost import Every, Fencepost
from tests.contrib.projects import Project
from tests.contrib.servers import Program, program
from tests.examples.programs import EXAMPLES
from tests.servers.ports import free_port, wait_until_heard

UNDER = "/ops/fencepost"
PAGE = {"accept": "text/html"}
PATIENCE_S = 60.0
PASSWORD = "only for this example"
PEOPLE = {"anna": "admin", "ben": "viewer", "cleo": None}
MADE = """
from django.contrib.auth.models import Permission, User
User.objects.create_superuser("anna", password={password!r})
for name in ("ben", "cleo"):
    User.objects.create_user(name, password={password!r}, is_staff=True)
User.objects.get(username="ben").user_permissions.add(Permission.objects.get(codename="view_schedule"))
print("null")
"""


@dataclass
class Host:
    """One that runs, with a schedule `tidy` in its ledger."""

    kind: str
    port: int
    url: str
    process: Program

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def client(self, name: str | None = None) -> Iterator[httpx.Client]:
        """A browser without scripts, of somebody who has signed in at the host."""
        with httpx.Client(base_url=self.address, headers=PAGE, timeout=PATIENCE_S) as client:
            if name is not None:
                SIGN_INS[self.kind](client, name)
            yield client

    def until_it_serves(self) -> None:
        wait_until_heard(self.port)


def post(client: httpx.Client, path: str, fields: dict[str, str], **headers: str) -> httpx.Response:
    """A form, sent from a page of the same host unless the headers say otherwise."""
    origin = str(client.base_url).rstrip("/")
    given = {"origin": origin, "sec-fetch-site": "same-origin", **headers}
    return client.post(path, data=fields, headers={name.replace("_", "-"): it for name, it in given.items()})


def _fastapi(client: httpx.Client, name: str) -> None:
    assert client.post("/login", data={"user": name}).status_code == 303


def _starlette(client: httpx.Client, name: str) -> None:
    client.auth = (name, PASSWORD)


def _django(client: httpx.Client, name: str) -> None:
    page = client.get("/admin/login/").text
    (token,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    form = {"csrfmiddlewaretoken": token, "username": name, "password": PASSWORD, "next": "/"}
    assert client.post("/admin/login/", data=form).status_code == 302


SIGN_INS = {"fastapi": _fastapi, "starlette": _starlette, "django": _django}


def furnish(url: str) -> None:
    """A job with a schedule in the ledger, as a process of the fleet would leave it."""
    app = Fencepost(url)
    app.job("tidy", schedule=Every("1h"))(lambda: None)

    async def register() -> None:
        async with app:
            await app.node(plans=False)

    asyncio.run(register())


def create_people(project: Project) -> None:
    """The people of the tests as users of Django."""
    project.does(MADE.format(password=PASSWORD))


@contextmanager
def host(kind: str, url: str, project: Project | None = None) -> Iterator[Host]:
    """One of them, by uvicorn."""
    port = free_port()
    folder, target = EXAMPLES / "web", f"inside_{kind}:web"
    environment = {"FENCEPOST_STORE": url}
    if project is not None:
        folder, target, environment = project.folder, "shop.asgi:application", project.environment
    served = ("-m", "uvicorn", target, "--port", str(port))
    with program(*served, folder=folder, **environment) as process:
        made = Host(kind, port, url, process)
        made.until_it_serves()
        yield made


def events(host: Host, client: httpx.Client) -> Iterator[str]:
    """The names of what a live stream tells, until it ends."""
    with client.stream("GET", f"{UNDER}/api/v1/events", headers={"accept": "text/event-stream"}) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            if line.startswith("event: "):
                yield line.removeprefix("event: ")
