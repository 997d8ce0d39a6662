"""The documentation under /docs: static files of one folder, behind the guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost import Fencepost
from fencepost.cli.web import open_door
from fencepost.errors import InvalidSettings
from fencepost.web.application import build_application
from tests.web.house import TOKEN, Answer, Web, ask


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A built site, and a file beside it that is none of it."""
    site = tmp_path / "site"
    (site / "guides").mkdir(parents=True)
    (site / "index.html").write_text("<h1>Fencepost</h1>", "utf-8")
    (site / "guides" / "time.html").write_text("<h1>Time</h1>", "utf-8")
    (site / "site.css").write_text("h1 { color: red }", "utf-8")
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    return site


async def asked(folder: str, path: str, token: str | None = TOKEN) -> Answer:
    web = Web(docs=folder)
    return await ask(build_application(web.serving, web.doorkeeper), "GET", path, token=token)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("index.html", "text/html"), ("guides/time.html", "text/html"), ("site.css", "text/css")],
)
async def test_a_file_of_the_folder_is_shown(folder: Path, path: str, kind: str) -> None:
    answer = await asked(str(folder), f"/docs/{path}")
    assert (answer.status, answer.content) == (200, (folder / path).read_bytes())
    assert answer.headers["content-type"].startswith(kind)
    assert "script-src 'self';" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
async def test_the_folder_leads_to_its_first_page(folder: Path, path: str) -> None:
    answer = await asked(str(folder), path)
    assert (answer.status, answer.headers["location"]) == (302, "/docs/index.html")


@pytest.mark.parametrize("path", ["/docs", "/docs/index.html", "/docs/nothing.html"])
async def test_no_file_is_shown_without_a_credential(folder: Path, path: str) -> None:
    assert (await asked(str(folder), path, token=None)).status == 401


@pytest.mark.parametrize("path", ["../secret.txt", "%2e%2e/secret.txt", "guides/../../secret.txt", "guides"])
async def test_nothing_outside_the_folder_is_shown(folder: Path, path: str) -> None:
    answer = await asked(str(folder), f"/docs/{path}")
    assert answer.status == 404
    assert b"secret" not in answer.content


async def test_without_a_folder_there_is_nothing_under_docs() -> None:
    assert (await asked("", "/docs/index.html")).status == 404


def test_a_folder_that_was_not_built_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="build it with make docs"):
        open_door(Fencepost(docs=str(tmp_path)), "127.0.0.1:0")
