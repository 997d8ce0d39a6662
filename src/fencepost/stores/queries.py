"""Named blocks of a `.sql` file: `-- name: claim_direct` opens one, the next name closes it.

What blocks have in common is a part: `-- part: due(held, most)` opens one, and `{due(= 0; $5)}` stands for
it, with `{held}` and `{most}` replaced. A part may be made of those before it, also of one that it is given
the name of (`{{held}}`). `parts.sql` has the parts of all files of a package.
"""

from __future__ import annotations

import re
from importlib import resources

_NAME, _PART = "-- name:", "-- part:"
_USE = re.compile(r"\{(\w+)(?:\(([^{}]*)\))?\}")


def load_queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """The blocks of a package's file by name."""
    folder, parts = resources.files(package), dict[str, str]()
    blocks: dict[str, str] = {}
    for one in ("parts.sql", file):
        if (found := folder.joinpath(one)).is_file():
            for mark, head, text in _read(found.read_text("utf-8")):
                known = blocks if mark == _NAME else parts
                assert head not in known, f"{package}/{one}: {head} stands twice"
                known[head] = _filled(text, parts)
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


def _filled(text: str, parts: dict[str, str]) -> str:
    """The text with every part that is known in the place of its name."""
    heads = {head.partition("(")[0]: head for head in parts}

    def use(match: re.Match[str]) -> str:
        if match[1] not in heads:
            return match[0]
        head, given = heads[match[1]], match[2] or ""
        names = head.partition("(")[2].rstrip(")")
        values = dict(zip(names.split(", "), given.split("; "), strict=True))
        return _filled(_USE.sub(lambda inner: values.get(inner[1], inner[0]), parts[head]), parts)

    return _USE.sub(use, text)
