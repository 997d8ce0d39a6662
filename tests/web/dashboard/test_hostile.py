"""Whatever people, jobs and workers write is text on a page, and nothing else."""

import html
import json

import pytest

from fencepost.model.access import Role
from fencepost.web.dashboard.said import Envelope, Said, read_said
from fencepost.web.dashboard.shown_json import shown_json
from fencepost.web.dashboard.turning import TURNS
from tests.web.dashboard.furnished import HOSTILE
from tests.web.dashboard.house import Dashboard, somebody
from tests.web.dashboard.reading import faults, parsed
from tests.web.dashboard.test_pages import ADDRESSES

RAW = ("<script>alert", "<img src=x", "onerror=alert(1)>")
WHERE_IT_IS_SHOWN = ["/", "/schedules", "/schedules/minutely", "/schedules/minutely/edit"]


@pytest.mark.parametrize("path", ADDRESSES)
async def test_nothing_hostile_becomes_markup(board: Dashboard, path: str) -> None:
    text = await board.page(path)
    assert [one for one in RAW if one in text] == []
    assert faults(text) == []


@pytest.mark.parametrize("path", WHERE_IT_IS_SHOWN)
async def test_what_is_hostile_is_shown_as_what_it_is(board: Dashboard, path: str) -> None:
    text = await board.page(path)
    assert html.escape(HOSTILE, quote=False)[:30] in text.replace("&#39;", "'").replace("&#34;", '"')


async def test_no_secret_of_a_payload_is_shown(board: Dashboard) -> None:
    for path in ADDRESSES:
        assert "a-secret-of-the-tests" not in await board.page(path)


@pytest.mark.parametrize("name", ["text", "job", "label", "after"])
async def test_what_stands_in_the_address_is_text(board: Dashboard, name: str) -> None:
    text = await board.page(
        f"/schedules?{name}=%3Cscript%3Ealert(1)%3C/script%3E%22%3E%3Cimg%20src=x%20onerror=y%3E"
    )
    assert faults(text) == []
    assert "<script>alert" not in text


@pytest.mark.parametrize(
    "path", ["/schedules/%3Cscript%3Ealert(1)", "/schedules/javascript:alert(1)/edit", "/x%3Cb%3E"]
)
async def test_a_path_that_leads_nowhere_is_text(board: Dashboard, path: str) -> None:
    answer = await board.get(path)
    assert answer.status == 404
    assert b"<script>alert" not in answer.content


async def test_the_name_of_whoever_looks_is_text(board: Dashboard) -> None:
    board.principal = somebody(Role.VIEWER, name=HOSTILE)
    assert faults(await board.page("/")) == []


@pytest.mark.parametrize("href", ["https://evil.example", "//evil.example", "javascript:alert(1)", "/\\evil"])
async def test_a_message_that_somebody_else_wrote_leads_nowhere(board: Dashboard, href: str) -> None:
    cookie = Envelope(secure=False).carry(Said(HOSTILE, href=href, link="go"))
    assert cookie.value is not None
    text = (await board.get("/", {cookie.key: cookie.value})).content.decode()
    assert faults(text) == []
    assert href not in [one.attributes.get("href") for one in parsed(text).elements]


@pytest.mark.parametrize("cookie", [None, "", "no", "e30=", "a" * 5_000, "eyJ0ZXh0IjogNX0="])
def test_a_cookie_that_says_nothing_of_ours_says_nothing(cookie: str | None) -> None:
    assert read_said(cookie) is None


def test_a_message_too_long_for_a_cookie_is_cut() -> None:
    cookie = Envelope(secure=True).carry(Said("ü" * 5_000, href="/" + "x" * 5_000))
    assert cookie.value is not None
    assert len(cookie.value) <= 3_500
    said = read_said(cookie.value)
    assert said is not None
    assert said.text.endswith("…")
    assert cookie.httponly
    assert cookie.secure


@pytest.mark.parametrize("path", ADDRESSES)
async def test_nothing_turns_the_words_around_it(board: Dashboard, path: str) -> None:
    assert TURNS.search(await board.page(path)) is None


def test_json_with_its_turns_written_out_says_the_same() -> None:
    value = {"a\u2066": HOSTILE}
    assert json.loads(shown_json(value)) == value
    assert TURNS.search(shown_json(value)) is None
