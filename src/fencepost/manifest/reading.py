"""The text of a manifest, read in bounded time and memory.

The parser takes time in the square of a dotted key's length, and nests as deep as the file does: a key of
40 KB kept it busy for 25 seconds. So the file's size, and the depth of its keys, arrays and tables, are
looked at before it is parsed.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from fencepost.errors import UsageError

BYTES_MAX = 1024 * 1024
DEPTH_MAX = 64

_TOKEN = re.compile(r"""#[^\n]*+|"{3}|'{3}|["'\[\]{}.=,\n]""")
_REST_OF_STRING = {
    '"""': re.compile(r'(?:[^"\\]++|\\.|"{1,2}+(?!"))*+"{3,5}', re.DOTALL),
    "'''": re.compile(r"(?:[^']++|'{1,2}+(?!'))*+'{3,5}"),
    '"': re.compile(r'(?:[^"\\\n]++|\\[^\n])*+"'),
    "'": re.compile(r"[^'\n]*+'"),
}


def read_toml(path: Path) -> dict[str, Any]:
    """What the file says, or one line about why it cannot be read."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: cannot be read: it is not a file")
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{path}: is longer than {BYTES_MAX} bytes; split it, or add schedules in code")
    return parse_toml(path, data)


def parse_toml(path: str | Path, data: bytes) -> dict[str, Any]:
    """The same of what was read already."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
        _check_depth(path, text)
        return tomllib.loads(text)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: expected UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None


def _without_waiting(path: str, flags: int) -> int:
    """A pipe would be waited for until another process writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_depth(path: str | Path, text: str) -> None:
    depth = dots = at = 0
    while found := _TOKEN.search(text, at):
        token, at = found[0], found.end()
        if token in _REST_OF_STRING:
            rest = _REST_OF_STRING[token].match(text, at)
            if rest is None:
                raise UsageError(f"{path}: not TOML: {_where(text, at)}: a text that begins there has no end")
            at = rest.end()
            continue
        depth += (token in "[{") - (token in "]}")
        dots = dots + 1 if token == "." else 0
        if max(depth, dots) > DEPTH_MAX:
            raise UsageError(f"{path}: {_where(text, at)}: nested deeper than {DEPTH_MAX} levels")


def _where(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"
