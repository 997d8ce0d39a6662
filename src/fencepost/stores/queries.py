"""Named blocks of a `.sql` file: `-- name: claim_direct` opens one, the next name closes it.

What blocks have in common is a part: `-- part: due(held, most)` opens one, and `{due(= 0; $5)}` stands for
it, with `{held}` and `{most}` replaced. A part may be made of those before it, also of one that it is given
the name of (`{{held}}`). `parts.sql` has the parts of all files of a package.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import NamedTuple

_NAME, _PART = "-- name:", "-- part:"
_USE = re.compile(r"\{(\w+)(?:\(([^{}]*)\))?\}")


class _Part(NamedTuple):
    """What blocks have in common: the names of what it is given, and its text."""

    names: str
    text: str


def load_queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """The blocks of a package's file by name."""
    folder, parts, blocks = resources.files(package), dict[str, _Part](), dict[str, str]()
    for one in ("parts.sql", file):
        if (found := folder.joinpath(one)).is_file():
            for mark, head, text in _read(found.read_text("utf-8")):
                name, _, names = head.rstrip(")").partition("(")
                known = parts if mark == _PART else blocks
                assert name not in known, f"{package}/{one}: {name} stands twice"
                if mark == _PART:
                    parts[name] = _Part(names, _filled(text, parts))
                else:
                    blocks[name] = _filled(text, parts)
                    unknown = _USE.search(blocks[name])
                    assert unknown is None, f"{package}/{one}: {name} names no part: {unknown}"
    return blocks


def _read(text: str) -> list[tuple[str, str, str]]:
    """The blocks and parts of a file: the mark, what it names, and the lines up to the next."""
    found: list[tuple[str, str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith((_NAME, _PART)):
            found.append((line[: len(_NAME)], line[len(_NAME) :].strip(), []))
        elif found and not line.startswith("--"):
            found[-1][2].append(line)
    return [(mark, head, "\n".join(lines).strip()) for mark, head, lines in found]


def _filled(text: str, parts: dict[str, _Part]) -> str:
    """The text with every part that is known in the place of its name."""

    def use(match: re.Match[str]) -> str:
        if match[1] not in parts:
            return match[0]
        part, given = parts[match[1]], match[2] or ""
        values = dict(zip(part.names.split(", "), given.split("; "), strict=True))
        return _filled(_USE.sub(lambda inner: values.get(inner[1], inner[0]), part.text), parts)

    return _USE.sub(use, text)
