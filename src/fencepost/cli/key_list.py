"""The run keys that another system has, read from its file: CSV with a header, or JSON lines.

A list may be longer than memory. It is read a line at a time, and its keys are kept in a temporary database
beside the command, which is removed with it.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from fencepost.cli.progress import Progress
from fencepost.errors import UsageError
from fencepost.model.chain import RUN_KEY_LENGTH_MAX
from fencepost.stores.queries import load_queries

STDIN = "-"
COLUMN = "run_key"
"""Where keys are, unless a list says otherwise or has one column."""
LINE_BYTES_MAX = 1 << 20
DELIMITERS = ",;\t"
CACHE_KIB = 32 * 1024
QUERIES = load_queries(__package__, "key_list.sql")

Reached = Callable[[int], object]
"""(how many bytes have been read)."""


class ListedKey(NamedTuple):
    """A key of the list: its first line, its second where there is one, and how often it is there."""

    run_key: str
    line: int
    line_again: int | None
    times: int


class KeyList:
    """The keys of one list, each once."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.rows = 0

    def add(self, keys: Iterable[tuple[str, int]]) -> None:
        """Keys with their lines, in the order of the list."""
        self._database.executemany(QUERIES["add"], self._counted(keys))

    def __len__(self) -> int:
        (found,) = self._database.execute(QUERIES["count"]).fetchone()
        return int(found)

    def _counted(self, keys: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        for one in keys:
            self.rows += 1
            yield one

    def batches(self, size: int) -> Iterator[Sequence[ListedKey]]:
        """All keys, ascending."""
        last = ""
        while found := self._database.execute(QUERIES["after"], (last, size)).fetchall():
            yield [ListedKey(*one) for one in found]
            last = found[-1][0]

    def among(self, keys: Sequence[str]) -> set[str]:
        """Those of these keys that the list has."""
        return {key for (key,) in self._database.execute(QUERIES["among"], (json.dumps(keys),))}


@contextmanager
def key_list(path: str, column: str | None) -> Iterator[KeyList]:
    """The list that a file has, for as long as somebody looks at it."""
    with _opened(path) as file, scratch() as database:
        found = KeyList(database)
        with Progress(_size(path), "reading") as bar:
            found.add(read_keys(path, file, column, bar.reached))
        yield found


@contextmanager
def scratch() -> Iterator[sqlite3.Connection]:
    """A database for as long as a command runs; nothing in it needs to survive."""
    with (
        TemporaryDirectory(prefix="fencepost-") as folder,
        closing(sqlite3.connect(Path(folder, "keys.db"))) as database,
    ):
        for pragma in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{CACHE_KIB}"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(QUERIES["create"])
        yield database


def read_keys(
    path: str, file: BinaryIO, column: str | None, reached: Reached = lambda size: None
) -> Iterator[tuple[str, int]]:
    """Each key of a list with its line."""
    lines = _Lines(path, file, reached)
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise UsageError(f"--against {path}: is empty; expected CSV with a header, or JSON lines")
    if first.lstrip().startswith("["):
        raise lines.wrong("is a JSON array; write one object a line, as jq -c '.[]' does")
    is_json = first.lstrip().startswith("{")
    read = _of_json(lines, first, column) if is_json else _of_csv(lines, first, column)
    return (_checked(lines, key, number) for key, number in read)


class _Lines:
    """The lines of a file as text, one after the other; `number` is that of the last one."""

    def __init__(self, path: str, file: BinaryIO, reached: Reached) -> None:
        self.path = path
        self.number = 0
        self._file = file
        self._reached = reached
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._file.readline(LINE_BYTES_MAX + 1)
        except OSError as error:
            raise UsageError(f"--against {self.path}: cannot be read: {error.strerror or error}") from None
        if not line:
            raise StopIteration
        self.number += 1
        self._size += len(line)
        self._reached(self._size)
        if len(line) > LINE_BYTES_MAX:
            raise self.wrong(f"is longer than {LINE_BYTES_MAX} bytes")
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise self.wrong(f"byte {error.start + 1} is not UTF-8") from None

    def wrong(self, what: str, number: int | None = None) -> UsageError:
        """What is wrong with a line, the last one unless another is named."""
        return UsageError(f"--against {self.path}, line {number or self.number}: {what}")


def _of_csv(lines: _Lines, first: str, column: str | None) -> Iterator[tuple[str, int]]:
    delimiter = max(DELIMITERS, key=first.count)
    try:
        reader = csv.reader(_again(first, lines), delimiter=delimiter, strict=True)
        header = [one.strip() for one in next(reader)]
        place = _place(lines, header, column)
        begun = lines.number
        for row in reader:
            number, begun = begun + 1, lines.number
            if len(row) > place:
                yield row[place].strip(), number
            elif row:
                raise lines.wrong(f"has {len(row)} columns, the header has {len(header)}", number)
    except csv.Error as error:
        raise lines.wrong(f"not CSV: {error}") from None


def _place(lines: _Lines, header: Sequence[str], column: str | None) -> int:
    if column is None and len(header) == 1 and "#" in header[0]:
        raise lines.wrong(f"is a run key; put a line before it that says {COLUMN}")
    wanted = column or (COLUMN if COLUMN in header or len(header) > 1 else header[0])
    if wanted not in header:
        raise lines.wrong(f"no column {wanted}; give --column one of: {', '.join(header)}")
    return header.index(wanted)


def _of_json(lines: _Lines, first: str, column: str | None) -> Iterator[tuple[str, int]]:
    for line in _again(first, lines):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise lines.wrong(f"not JSON: {error}") from None
        if not isinstance(found, dict):
            raise lines.wrong("expected a JSON object")
        name = column or (COLUMN if COLUMN in found or len(found) != 1 else next(iter(found)))
        if name not in found:
            raise lines.wrong(f"has no {name}; give --column one of: {', '.join(found) or 'none'}")
        key = found[name]
        if not isinstance(key, str):
            raise lines.wrong(f"{name} is no text")
        yield key.strip(), lines.number


def _again(first: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines with the one that was looked at before them."""
    yield first
    yield from lines


def _checked(lines: _Lines, key: str, number: int) -> tuple[str, int]:
    if not key:
        raise lines.wrong("has no key; leave out what was not done for a run", number)
    if len(key) > RUN_KEY_LENGTH_MAX or not key.isprintable():
        raise lines.wrong(
            f"its key is none: expected up to {RUN_KEY_LENGTH_MAX} printable characters", number
        )
    return key, number


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise UsageError(f"--against {path}: cannot be read: {error.strerror or error}") from None
        yield file


def _size(path: str) -> int:
    """How many bytes a file has; 0 where nobody can know."""
    try:
        return 0 if path == STDIN else Path(path).stat().st_size
    except OSError:
        return 0
