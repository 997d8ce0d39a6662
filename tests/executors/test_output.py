"""What a process writes: no piece of a secret shows at a cut, and the log is bounded by the log alone."""

from __future__ import annotations

import pytest

from fencepost.executors.output import MARGIN, PIECE_LENGTH, Output
from fencepost.ports.run import Run
from fencepost.services.run_log import RunLog
from fencepost.telemetry import secrets
from tests.executors.runs import make_run

SECRET = "canary-0123456789-canary"
PIECES_OF_IT = [SECRET[at : at + 6] for at in range(len(SECRET) - 5)]


@pytest.fixture(autouse=True)
def known_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """One, and none that another test has left."""
    monkeypatch.setattr(secrets, "LIVE", secrets.LiveSecrets())
    secrets.remember(SECRET)


def logged_lines(*fed: bytes) -> list[str]:
    """What is logged of these bytes, line by line."""
    said: list[str] = []
    output = Output(Run(make_run().claim, keep=said.append))
    for data in fed:
        output.feed(data)
    output.end_line()
    return [line for text in said for line in text.splitlines()]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("before", range(PIECE_LENGTH - len(SECRET) - 1, PIECE_LENGTH + 2))
def test_a_cut_through_a_long_line_shows_no_piece_of_a_secret(before: int, end: str) -> None:
    lines = logged_lines(("x" * before + SECRET + "y" * 2 * PIECE_LENGTH + end).encode())
    assert not [piece for piece in PIECES_OF_IT if any(piece in line for line in lines)]
    text = "".join(lines)
    assert (text.count("x"), text.count("y")) == (before, 2 * PIECE_LENGTH), "and all the rest is there"
    assert all(len(line) <= PIECE_LENGTH for line in lines)


@pytest.mark.parametrize("before", [PIECE_LENGTH - 5, PIECE_LENGTH + 5, PIECE_LENGTH + MARGIN - 5])
def test_a_secret_that_comes_in_two_reads_is_not_logged_in_two_pieces(before: int) -> None:
    for half in range(1, len(SECRET)):
        parts = "x" * before + SECRET[:half], SECRET[half:] + "y" * 3 * PIECE_LENGTH
        lines = logged_lines(*(part.encode() for part in parts))
        assert not [piece for piece in PIECES_OF_IT if any(piece in line for line in lines)]


def test_a_secret_within_another_does_not_give_the_longer_one_away() -> None:
    secrets.remember(SECRET[8:14])
    for half in range(1, len(SECRET)):
        parts = "x" * (PIECE_LENGTH + MARGIN) + SECRET[:half], SECRET[half:] + "y" * 3 * PIECE_LENGTH
        text = "".join(logged_lines(*(part.encode() for part in parts)))
        assert "canary" not in text


def test_lines_are_logged_as_they_were_written() -> None:
    assert logged_lines(b"one\n\ntw", b"o\n", b"\n", b"three") == ["one", "", "two", "", "three"]


def test_a_character_that_comes_in_two_reads_is_whole() -> None:
    assert logged_lines(b"caf\xc3", b"\xa9\n", b"\xff\n", b"half \xc3") == ["café", "\ufffd", "half \ufffd"]


def test_a_line_without_an_end_is_logged_while_it_grows() -> None:
    said: list[str] = []
    output = Output(Run(make_run().claim, keep=said.append))
    for _ in range(100):
        output.feed(b"x" * 1024)
    assert len("".join(said)) >= 100 * 1024 - PIECE_LENGTH - MARGIN


def test_the_last_lines_of_very_much_output_are_in_the_log() -> None:
    claim = make_run().claim
    log = RunLog(claim.ticket)
    output = Output(Run(claim, keep=log.write))
    for number in range(50):
        output.feed(b"".join(b"line %d of block %d\n" % (line, number) for line in range(2000)))
    page = log.page()
    assert page is not None
    kept = [line for chunk in page.chunks for line in chunk.text.split("\n")]
    assert (kept[0], kept[-1]) == ("line 0 of block 0", "line 1999 of block 49")
