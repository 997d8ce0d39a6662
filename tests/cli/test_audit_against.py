"""`fencepost audit --against FILE` finds where another system's list of keys and the ledger differ."""

import json
import tracemalloc
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from fencepost.cli.key_list import KeyList, read_keys, scratch
from tests.cli.beats import beat, keys, spoil
from tests.cli.calls import call, called, refused

FAIL = "UPDATE runs SET state = 'dead', reason = 'no fuel' WHERE run_key = ?"
RUN = "UPDATE runs SET state = 'running', finished_at = NULL WHERE run_key = ?"
OLD = "beat#2026-01-01T00:00:00Z#1"
UNKNOWN = "beat#{}#99"


@pytest.fixture
def beaten(url: str) -> str:
    """The address of a store in which a schedule `beat` of the job `report` has fired a dozen times."""
    beat(url)
    return url


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sent.csv"


def compared(store: str, path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and what was found."""
    result = call("audit", "--against", str(path), "--store", store, "--json", *options)
    return result.exit_code, json.loads(result.stdout)


def found(report: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    return [(one["kind"], one["run_key"], one["lines"]) for one in report["findings"]]


def test_a_list_that_has_every_effect_once_is_fine(beaten: str, path: Path) -> None:
    path.write_text("\n".join(["run_key", *keys(beaten)]))
    code, report = compared(beaten, path)
    assert (code, report["faults"], report["findings"]) == (0, 0, [])
    assert report["succeeded"] == report["keys"] == report["rows"] == report["verdicts"]["succeeded"] == 12
    assert "no findings" in called("audit", "beat", "--against", str(path), "--store", beaten)


@pytest.mark.parametrize("form", ["csv", "semicolons", "jsonl"])
def test_each_kind_of_difference_is_found_with_its_lines(beaten: str, path: Path, form: str) -> None:
    mine = keys(beaten)
    dead, running, absent, again = mine[1:5]
    unknown = UNKNOWN.format(mine[0].split("#")[1])
    spoil(beaten, FAIL, dead)
    spoil(beaten, RUN, running)
    listed = [*(key for key in mine if key != absent), again, unknown, OLD]
    separator = ";" if form == "semicolons" else ","
    lines = [f"amount{separator}key", *(f'"9{separator}5\n0"{separator}{key}' for key in listed)]
    if form == "jsonl":
        lines = [json.dumps({"key": key, "amount": 1}) for key in listed]
    path.write_text("\ufeff" + "\n".join(lines))
    # A header, and two lines for each key before it.
    line = {key: (number + 1 if form == "jsonl" else 2 * number + 2) for number, key in enumerate(listed)}
    first = next(number for number, key in enumerate(listed) if key == again)
    places = [first + 1 if form == "jsonl" else 2 * first + 2, line[again]]
    code, report = compared(beaten, path, "--column", "key")
    assert code == 1
    assert found(report) == [
        ("repeated", again, places),
        ("without_run", unknown, [line[unknown]]),
        ("without_run", dead, [line[dead]]),
        ("without_effect", absent, []),
    ]
    assert report["counts"] == {"repeated": 1, "without_run": 2, "without_effect": 1}
    assert (report["verdicts"]["running"], report["verdicts"]["outside"]) == (1, 1)
    words = {one["run_key"]: one["words"] for one in report["findings"]}
    assert words[dead] == "its run is dead: no fuel"
    assert words[unknown] == "the ledger has no such run"


def test_only_what_is_within_the_bounds_is_compared(beaten: str, path: Path) -> None:
    mine = keys(beaten)
    first, last = (mine[place].split("#")[1] for place in (2, 4))
    path.write_text("\n".join(["run_key", mine[0], mine[0], mine[3], "report#by-hand"]))
    bounds = ("--from", first, "--to", last)
    _, report = compared(beaten, path, "beat", *bounds)
    assert (report["since"], report["until"]) == (first, last)
    assert [key for _, key, _ in found(report)] == [mine[2], mine[4]]
    assert report["verdicts"] == {"outside": 2, "succeeded": 1}
    _, report = compared(beaten, path, *bounds)
    assert ("without_run", "report#by-hand", [5]) in found(report)


def test_only_runs_of_the_job_are_compared(used: str, path: Path) -> None:
    path.write_text("run_key\nburn#bad\ndouble#odd\n")
    _, report = compared(used, path, "--job", "double")
    assert found(report) == [("without_run", "double#odd", [3]), ("without_effect", "double#ok", [])]
    _, report = compared(used, path, "--job", "burn")
    assert found(report) == [("without_run", "burn#bad", [2])]


def test_what_retention_may_have_removed_is_not_judged(beaten: str, path: Path) -> None:
    path.write_text(f"run_key\n{OLD}\n")
    bounds = ("--from", "2026-01-01", "--to", "2026-01-02", "--tz", "UTC")
    assert compared(beaten, path, *bounds)[1]["counts"]["without_run"] == 1
    spoil(beaten, "INSERT INTO meta (name, value) VALUES (?, ?)", "forgotten_before", "2026-02-01T00:00:00Z")
    code, report = compared(beaten, path, *bounds)
    assert (code, report["verdicts"]) == (0, {"forgotten": 1})


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (b"", (), "is empty"),
        (b"\n\n", (), "is empty"),
        (b"key,amount\na#b,1\n", (), "line 1: no column run_key; give --column one of: key, amount"),
        (b"run_key,amount\n", ("--column", "key"), "line 1: no column key"),
        (b"run_key\na#b\n\xff\n", (), "line 3: byte 1 is not UTF-8"),
        (b"amount,run_key\n1,a#b\n2\n", (), "line 3: has 1 columns, the header has 2"),
        (b'run_key\n"a#b\n', (), "line 2: not CSV: "),
        (b"run_key\na#b\n \n", (), "line 3: has no key"),
        (b"a#b\nc#d\n", (), "line 1: is a run key; put a line before it that says run_key"),
        (b'[{"run_key": "a#b"}]\n', (), "line 1: is a JSON array; write one object a line"),
        (b"run_key\n" + b"x" * 1208, (), "line 2: its key is none"),
        (b"run_key\na\x07\n", (), "line 2: its key is none"),
        (b"run_key\n" + b"x" * (1 << 20) + b"y\n", (), "line 2: is longer than 1048576 bytes"),
        (b'{"run_key": "a#b"}\n{"run_key": \n', (), "line 2: not JSON: "),
        (b'{"run_key": "a#b"}\n[1]\n', (), "line 2: expected a JSON object"),
        (
            b'{"run_key": "a#b"}\n{"key": "a", "n": 1}\n',
            (),
            "line 2: has no run_key; give --column one of: key, n",
        ),
        (b'{"run_key": "a#b"}\n\n{"run_key": 7}\n', (), "line 3: run_key is no text"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(
    url: str, path: Path, text: bytes, options: tuple[str, ...], said: str
) -> None:
    path.write_bytes(text)
    line = refused("audit", "--against", str(path), "--store", url, *options)
    assert line.startswith(f"--against {path}")
    assert said in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--against", "away.csv"), "--against away.csv: cannot be read: No such file"),
        (("--against", "."), "--against .: cannot be read: Is a directory"),
        (("--column", "key"), "--column: goes with --against FILE"),
        (("--job", "report"), "--job: goes with --against FILE"),
        (("--against", "list.csv", "--repair"), "--repair: plans missing ticks"),
    ],
)
def test_a_call_that_means_nothing_is_refused(url: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("audit", *arguments, "--store", url)


def test_bounds_that_name_nothing_are_refused(beaten: str, path: Path) -> None:
    path.write_text("run_key\n")
    for arguments, said in (
        (("--job", "reprot"), "did you mean report?"),
        (("beatt",), "did you mean beat?"),
        (("--from", "1h", "--to", "2h"), "--to: expected a time that is not before"),
    ):
        assert said in refused("audit", "--against", str(path), *arguments, "--store", beaten)


def test_a_long_list_is_not_held_in_memory() -> None:
    lines = chain([b"run_key\n"], (b"job#%036d\n" % (number % 15_000) for number in range(15_500)))
    with scratch() as database:
        found, listed = KeyList(database), cast("BinaryIO", Reading(lines))
        tracemalloc.start()
        try:
            found.add(read_keys("list", listed, None))
            batches = sum(len(one) for one in found.batches(100))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (found.rows, len(found), batches) == (15_500, 15_000, 15_000)
    assert peak < 500_000


class Reading:
    """A file that is made while it is read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines

    def readline(self, limit: int) -> bytes:
        return next(self._lines, b"")
