"""Whoever looks with a browser is refused with a page, whichever layer refuses; a program has its problem."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.web.admission import Turns
from fencepost.web.auth.known import LOOKING_MAX, Known
from fencepost.web.lanes import Lane
from tests.web.dashboard.house import words_of
from tests.web.door import HERE, PAGE, Door
from tests.web.house import Answer, ask

PATIENCE_S = 30.0
LOOKERS = 3 * LOOKING_MAX


def read(answer: Answer) -> str:
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return words_of(answer.content.decode())


async def test_who_asks_too_often_reads_when_to_come_again() -> None:
    door = Door(requests_per_s=2, requests_burst=1)
    cookie = await door.sign_in()
    assert (await door.get("/runs?state=dead", cookie=cookie, **PAGE)).status == 200
    answer = await door.get("/runs?state=dead", cookie=cookie, **PAGE)
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert "Ask again in 1 s." in read(answer)
    assert b'href="/runs?state=dead"' in answer.content
    again = await door.get("/api/v1/runs", cookie=cookie, **PAGE)
    assert again.problem == "too-many-requests", "the API is for programs, whatever they accept"


async def test_a_store_that_is_away_is_a_page_without_words_for_programs() -> None:
    door = Door()
    cookie = await door.sign_in()
    door.house.clock.advance(60)
    door.house.store.fail_before("access.find_session")
    answer = await door.get("/runs", cookie=cookie, **PAGE)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    text = read(answer)
    assert "The store did not answer" in text
    assert "Idempotency-Key" not in text
    assert b'href="/runs"' in answer.content


async def test_a_form_is_not_asked_for_again_by_its_address() -> None:
    """Nothing is there for a GET."""
    door = Door()
    cookie = await door.sign_in()
    door.house.clock.advance(60)
    door.house.store.fail_before("access.find_session")
    answer = await door.post("/do/schedules.pause", {}, cookie, headers={**HERE, "accept": "text/html"})
    assert answer.status == 503
    assert "send it again" in read(answer)
    assert b"/do/" not in answer.content


async def test_a_form_of_an_old_session_is_a_page() -> None:
    door = Door()
    cookie = await door.sign_in()
    answer = await door.post("/do/x", {"csrf": "old"}, cookie, headers={**HERE, "accept": "text/html"})
    assert (answer.status, "The form is too old" in read(answer)) == (403, True)


async def test_who_is_turned_away_reads_that_nothing_was_done() -> None:
    door = Door()
    turns = Turns(door.app)
    turns.strangers = Lane(at_once_max=0, waiting_max=0)
    answer = await ask(turns, "GET", "/runs", token=None, headers={"accept": "text/html"})
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert "nothing of this one was done" in read(answer)


@pytest.mark.parametrize("path", ['/"><script>1</script>', "//evil.example/x", "/\\evil.example"])
async def test_a_path_in_a_refusal_is_text_and_leads_nowhere_else(path: str) -> None:
    door = Door(requests_per_s=1, requests_burst=1)
    cookie = await door.sign_in()
    await door.get(cookie=cookie)
    answer = await door.get(path, cookie=cookie, **PAGE)
    assert answer.status == 429
    assert b"<script>1" not in answer.content
    assert b"evil.example" not in answer.content


async def test_nobody_waits_long_for_a_store_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those who look nor those who wait to look: a scrape is given up after seconds."""
    door = Door()
    monkeypatch.setattr(door.doorkeeper, "_known", impatient(door))
    tokens = [(await door.token()).credential.reveal() for _ in range(LOOKERS)]
    for _ in tokens:
        door.house.store.hold("access.find_token")
    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*(door.get("/metrics", token=one) for one in tokens))
    assert {one.problem for one in answers} == {"store-unavailable"}


async def test_a_use_that_nobody_notes_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    monkeypatch.setattr(door.doorkeeper, "_known", impatient(door))
    shown = (await door.token()).credential.reveal()
    door.house.store.hold("access.note_use")
    async with asyncio.timeout(PATIENCE_S):
        assert (await door.get(token=shown)).status == 200


def impatient(door: Door) -> Known:
    return Known(door.house.store.access, door.house.clock, door.doorkeeper.terms, within_s=0.05)
