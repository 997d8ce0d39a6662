"""One zone for all times of a page, chosen by the reader; inputs say which, and mean it."""

from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest

from fencepost.web.dashboard.visiting import in_zone
from tests.web.dashboard.house import CSRF, Dashboard, words_of
from tests.web.dashboard.reading import parsed
from tests.web.house import ask

BERLIN = ZoneInfo("Europe/Berlin")
WHY = "/schedules/minutely/why?at=2026-03-01T12:02:00Z"
BROWSER = {"fencepost_zone": "Asia%2FTokyo"}


async def test_a_zone_that_was_chosen_goes_before_that_of_the_browser(board: Dashboard) -> None:
    answer = await board.send("/zone", zone="Europe/Berlin", back=WHY)
    assert (answer.status, answer.headers["location"]) == (303, WHY)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert cookie == "fencepost_zone_chosen=Europe%2FBerlin"
    name, _, value = cookie.partition("=")
    text = (await board.get(WHY, {**BROWSER, name: value})).content.decode()
    assert ">Sun 1 Mar 13:02:00<" in text
    assert "Times in Europe/Berlin" in words_of(text)


@pytest.mark.parametrize("path", ["/", "/schedules", "/runs", "/matrix", "/log"])
async def test_utc_is_one_click_away_on_every_page(board: Dashboard, path: str) -> None:
    text = (await board.get(path, BROWSER)).content.decode()
    buttons = [one.attributes for one in parsed(text).named("button")]
    assert [one for one in buttons if (one.get("name"), one.get("value")) == ("zone", "UTC")]


async def test_an_empty_choice_gives_way_to_the_zone_of_the_browser(board: Dashboard) -> None:
    answer = await board.send("/zone", zone="", back="/")
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    text = (await board.get(WHY, {**BROWSER, "fencepost_zone_chosen": ""})).content.decode()
    assert ">Sun 1 Mar 21:02:00<" in text


async def test_a_zone_that_is_not_there_is_refused_and_not_remembered(board: Dashboard) -> None:
    answer = await board.send("/zone", zone="No/Where", back="/")
    assert answer.status == 400
    assert "set-cookie" not in answer.headers


async def test_a_choice_of_another_site_is_refused(board: Dashboard) -> None:
    assert (await board.send("/zone", csrf="another", zone="UTC")).status == 403


async def test_a_choice_leads_nowhere_else(board: Dashboard) -> None:
    answer = await board.send("/zone", zone="UTC", back="//elsewhere.example")
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-03-01T12:00", "2026-03-01T12:00:00+01:00"),
        ("2026-07-01", "2026-07-01T00:00:00+02:00"),
        ("2026-03-29T02:30", "2026-03-29T03:00:00+02:00"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
        ("2026-03-01T12:00:00+09:00", "2026-03-01T12:00:00+09:00"),
        ("2h", "2h"),
        ("0001-01-01", "0001-01-01"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_time_without_an_offset_is_one_of_the_reader(text: str, read: str) -> None:
    assert in_zone("since", text, BERLIN) == read
    assert in_zone("text", text, BERLIN) == text


async def test_a_list_begins_where_the_reader_says_by_their_clocks(board: Dashboard) -> None:
    cookies = {"fencepost_zone_chosen": "Asia%2FTokyo"}
    text = (await board.get("/runs?schedule=minutely&until=2026-03-01T21:05", cookies)).content.decode()
    keys = [one.attributes["data-run"] for one in parsed(text).elements if "data-run" in one.attributes]
    assert max(keys) == "minutely#2026-03-01T12:04:00Z#1"
    assert 'value="2026-03-01T21:05:00+09:00"' in text


@pytest.mark.parametrize("path", ["/runs", "/dead", "/dead/replay", "/log", "/schedules/minutely/backfill"])
async def test_inputs_say_which_zone_they_mean(board: Dashboard, path: str) -> None:
    text = (await board.get(path, BROWSER)).content.decode()
    for name in ("since", "until"):
        label = text.partition(f'name="{name}"')[0].rpartition("<label>")[2]
        assert "Asia/Tokyo" in label, (path, name)


async def test_a_run_is_due_when_the_clocks_of_the_reader_say_so(board: Dashboard) -> None:
    fields = {"csrf": CSRF, "job": "report", "key": "by-the-clock", "at": "2026-03-02T09:00", "payload": "{}"}
    kind = "application/x-www-form-urlencoded"
    headers = {"content-type": kind, "cookie": "fencepost_zone_chosen=Asia%2FTokyo"}
    body = urlencode(fields).encode()
    answer = await ask(board.app, "POST", "/do/jobs.enqueue", body, headers=headers, token=None)
    assert answer.status == 303
    assert 'datetime="2026-03-02T00:00:00Z"' in await board.page("/runs/report%23by-the-clock")
