"""The log of an attempt keeps its beginning and its end, and grows no further, whatever a job writes."""

from __future__ import annotations

import threading
import tracemalloc

import pytest

from fencepost.model.identifiers import DEFAULT_NAMESPACE, Fence, RunKey
from fencepost.model.run import Ticket
from fencepost.model.run_log import LogChunk, LogPage, dropped_before, size_of
from fencepost.services.run_log import CHUNK_COST, LINE_LENGTH_MAX, RunLog

TICKET = Ticket(DEFAULT_NAMESPACE, RunKey("report#1"), 1, Fence(7))
SMALL = 8_192


class Ledger:
    """What the rows of one attempt would be."""

    def __init__(self) -> None:
        self.rows: dict[int, LogChunk] = {}

    def take(self, page: LogPage | None) -> LogPage:
        """Write a page as a store would."""
        assert page is not None
        for number in list(self.rows):
            if page.kept_through < number < page.kept_from:
                del self.rows[number]
        for chunk in page.chunks:
            self.rows.setdefault(chunk.number, chunk)
        return page

    @property
    def chunks(self) -> list[LogChunk]:
        return [self.rows[number] for number in sorted(self.rows)]

    @property
    def lines(self) -> list[str]:
        return [line for one in self.chunks for line in one.text.split("\n")]

    @property
    def dropped(self) -> int:
        before = [None, *self.chunks]
        return sum(dropped_before(one, last) for last, one in zip(before, self.chunks, strict=False))


def flush(log: RunLog, ledger: Ledger) -> None:
    log.written(ledger.take(log.page()))


def test_nothing_written_is_nothing_to_write() -> None:
    log = RunLog(TICKET)
    assert log.page() is None
    assert log.is_written


def test_lines_are_not_lost_or_joined() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("one")
    log.write("two\nthree\r\nfour")
    log.write("")
    assert not log.is_written
    flush(log, ledger)
    log.write("five")
    flush(log, ledger)
    assert ledger.lines == ["one", "two", "three", "four", "", "five"]
    assert (ledger.dropped, log.is_written) == (0, True)


def test_a_page_that_was_not_taken_is_handed_out_again() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("one")
    log.page()
    log.write("two")
    flush(log, ledger)
    assert ledger.lines == ["one", "two"]
    assert log.page() is None


def test_two_who_write_the_same_page_write_it_once() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("one")
    first = log.page()
    log.write("two")
    flush(log, ledger)
    assert first is not None
    log.written(ledger.take(first))
    assert ledger.lines == ["one", "two"]


@pytest.mark.parametrize("flush_every", [1, 7, 100, 10_000])
def test_the_first_and_the_last_lines_are_kept_and_the_others_counted(flush_every: int) -> None:
    log, ledger, count = RunLog(TICKET, SMALL), Ledger(), 5_000
    for number in range(count):
        log.write(f"line {number}")
        if number % flush_every == 0:
            flush(log, ledger)
    if not log.is_written:
        flush(log, ledger)
    assert ledger.lines[0] == "line 0"
    assert ledger.lines[-1] == f"line {count - 1}"
    assert ledger.dropped + len(ledger.lines) == count
    assert ledger.dropped > 0
    kept = size_of(ledger.chunks) + len(ledger.chunks) * CHUNK_COST
    assert SMALL / 4 < kept <= SMALL + SMALL / 16


def test_what_is_kept_of_the_beginning_stays() -> None:
    log, ledger = RunLog(TICKET, SMALL), Ledger()
    for number in range(1_000):
        log.write(f"line {number}")
        flush(log, ledger)
    head = [one for one in ledger.chunks if one.first_line == one.number - 1 and one.number < 40]
    assert len(head) == 39


def test_a_flood_does_not_grow_the_memory() -> None:
    log, line = RunLog(TICKET), "x" * 999
    tracemalloc.start()
    try:
        for _ in range(100_000):
            log.write(line)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 2 * 1024 * 1024
    page = log.page()
    assert page is not None
    assert size_of(page.chunks) <= 256 * 1024


def test_many_small_flushes_do_not_make_rows_without_end() -> None:
    log, ledger = RunLog(TICKET, SMALL), Ledger()
    for _ in range(5_000):
        log.write("")
        flush(log, ledger)
    assert len(ledger.rows) <= SMALL // CHUNK_COST


def test_pages_that_are_not_taken_do_not_grow_the_memory() -> None:
    log = RunLog(TICKET, SMALL)
    for _ in range(1_000):
        log.write("a line")
        log.page()
    page = log.page()
    assert page is not None
    assert len(page.chunks) <= SMALL // CHUNK_COST


def test_a_very_long_line_is_cut_and_says_so() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("x" * 1_000_000)
    flush(log, ledger)
    (line,) = ledger.lines
    assert len(line) < LINE_LENGTH_MAX + 50
    assert line.endswith("… (1000000 characters)")


def test_secrets_do_not_reach_the_ledger() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("to https://anna:sesame@example.org/?token=sesame\nAuthorization: Bearer sesame")
    log.write("y" * (LINE_LENGTH_MAX - 30) + " https://anna:sesame-sesame-sesame-sesame@example.org/")
    flush(log, ledger)
    assert "sesame" not in "\n".join(ledger.lines)
    assert len(ledger.lines) == 3


def test_no_piece_of_a_secret_reaches_the_ledger_and_what_is_none_does() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("Config(host='db', password='open it #sesame')\nTOKEN=open&it#sesame n=1")
    log.write('done prompt_tokens=1532 sessions=7\n{"total_tokens": 1532}\nrunning basic checks')
    flush(log, ledger)
    assert ledger.lines == [
        "Config(host='db', password='***')",
        "TOKEN=*** n=1",
        "done prompt_tokens=1532 sessions=7",
        '{"total_tokens": 1532}',
        "running basic checks",
    ]


def test_what_no_store_can_keep_is_replaced() -> None:
    log, ledger = RunLog(TICKET), Ledger()
    log.write("a\0b\udc80c")
    flush(log, ledger)
    assert "\0" not in ledger.lines[0]
    ledger.lines[0].encode()


def test_threads_do_not_lose_each_other_s_lines() -> None:
    log, ledger = RunLog(TICKET, 10 * 1024 * 1024), Ledger()

    def write(name: str) -> None:
        for number in range(1_000):
            log.write(f"{name} {number}")

    threads = [threading.Thread(target=write, args=(str(one),)) for one in range(4)]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        if not log.is_written:
            flush(log, ledger)
    if not log.is_written:
        flush(log, ledger)
    assert (len(ledger.lines), ledger.dropped) == (4_000, 0)
    assert sorted(ledger.lines) == sorted(f"{one} {number}" for one in range(4) for number in range(1_000))
