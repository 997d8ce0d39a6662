"""The guides for the days after an incident: commands are typed, programs run, outputs are compared."""

from __future__ import annotations

import re
import shlex
import sqlite3
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fencepost.model.run import Outcome, RunState
from fencepost.ports.store import Store
from fencepost.testing import Bench
from tests.cli.calls import call
from tests.docs.test_three_in_the_morning import (
    INVOICES,
    MIDNIGHT,
    Night,
    _claim,
    _fail,
    _plan,
    _set_up,
    night,
)

__all__ = ["night"]

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
HERE = re.compile(r"cli on [\w.-]+")


def blocks(page: str, language: str) -> list[str]:
    """The examples of a page in one language."""
    text = (GUIDES / page).read_text("utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


def typed(line: str) -> tuple[int, str]:
    """What comes of a command of a page."""
    result = call(*shlex.split(line.partition(">")[0])[1:])
    return result.exit_code, result.stdout


@pytest.fixture
def paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    """Four hours of invoices: the second died after its effect, all others succeeded."""
    night = Night(tmp_path / "paid.db")
    monkeypatch.setattr("fencepost.wiring.SystemClock", lambda: night.clock)
    monkeypatch.setenv("FENCEPOST_STORE", night.url)
    monkeypatch.chdir(tmp_path)
    night.do(_set_up)
    for hour in range(4):
        night.go_to(hour, 1)
        night.do(partial(_pay, hour=hour))
    night.go_to(4)
    return night


async def _pay(store: Store, hour: int) -> None:
    await _plan(store, INVOICES, hour, catches_up=False)
    claims = await _claim(store, "send")
    if hour == 1:
        await _fail(store, claims, "connection lost")
    else:
        await store.ledger.finish([Outcome(one.ticket, RunState.SUCCEEDED) for one in claims])


@pytest.mark.usefixtures("paid")
def test_a_comparison_says_what_the_guide_says() -> None:
    (listed,) = blocks("reconciling.md", "csv")
    (command,) = blocks("reconciling.md", "sh")
    (said,) = blocks("reconciling.md", "")
    Path("paid.csv").write_text(listed, "utf-8")
    assert typed(command) == (1, said)


@pytest.mark.usefixtures("paid")
def test_what_was_repaired_as_the_guide_says_is_no_finding_any_more() -> None:
    (listed,) = blocks("reconciling.md", "csv")
    (command,) = blocks("reconciling.md", "sh")
    lines = listed.splitlines()
    lines = [one for number, one in enumerate(lines) if number not in (2, 3)]
    Path("paid.csv").write_text("\n".join([*lines, f"{INVOICES}#2026-03-01T02:00:00Z#1,1"]), "utf-8")
    code, said = typed(command)
    assert (code, said.splitlines()[-1]) == (0, "no findings")


def test_the_page_of_a_night_is_the_one_in_the_guide(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_ACTOR", "anna")
    freeze, report = "".join(blocks("post-mortem.md", "sh")).splitlines()
    assert typed(freeze)[0] == 0
    (page,) = blocks("post-mortem.md", "markdown")
    assert (0, page) == (typed(report)[0], HERE.sub("cli on web-3", typed(report)[1]))
    assert MIDNIGHT + timedelta(hours=3, minutes=30) == night.clock.wall()


@dataclass
class Elsewhere:
    """A system that books under a key, and may refuse."""

    refuses: bool = False
    booked: dict[str, str] = field(default_factory=dict)

    def book(self, key: str, what: str) -> str:
        if self.refuses:
            raise ConnectionError("no room")
        return self.booked.setdefault(key, what)

    def cancel(self, key: str) -> None:
        self.booked.pop(key, None)


class Bank:
    """Its books, and an answer that is lost now and then."""

    def __init__(self) -> None:
        self.books = sqlite3.connect(":memory:")


def program() -> dict[str, Any]:
    """The guide's program, with the systems that it reaches."""
    found: dict[str, Any] = {"flights": Elsewhere(), "hotels": Elsewhere(), "bank": Bank()}
    exec("\n".join(blocks("effects-elsewhere.md", "python")), found)
    return found


async def test_an_inbox_does_not_take_the_same_run_twice() -> None:
    found = program()
    pay, lost = found["pay"], iter([True, False])

    def pay_and_lose_the_answer(*given: Any) -> bool:
        new = bool(pay(*given))
        if next(lost):
            raise ConnectionError("the answer was lost")
        return new

    found["pay"] = pay_and_lose_the_answer
    async with Bench(found["app"], raises=False) as bench:
        await found["app"].enqueue(found["pay_rent"], account="anna", amount=800, key="march")
        await bench.advance("1h")
        run = bench.run("pay_rent#march")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    assert found["bank"].books.execute("select * from payments").fetchall() == [("anna", 800)]


async def test_a_trip_that_cannot_be_booked_leaves_no_flight() -> None:
    found = program()
    flights, hotels = found["flights"], found["hotels"]
    async with Bench(found["app"], raises=False) as bench:
        await found["app"].enqueue(found["book_trip"], trip="Rome", key="1")
        await bench.advance("1h")
        assert list(flights.booked) == ["book_trip#1/flight"]
        hotels.refuses = True
        await found["app"].enqueue(found["book_trip"], trip="Oslo", key="2")
        await bench.advance("1h")
    assert list(flights.booked) == ["book_trip#1/flight"]
    assert list(hotels.booked) == ["book_trip#1/hotel"]
