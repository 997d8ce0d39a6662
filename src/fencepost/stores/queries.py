"""Named blocks of a `.sql` file: `-- name: claim_direct` opens one, the next name closes it."""

from __future__ import annotations

from importlib import resources

_MARK = "-- name:"


def load_queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """The blocks of a package's file by name."""
    blocks: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in resources.files(package).joinpath(file).read_text("utf-8").splitlines():
        if line.startswith(_MARK):
            name = line.removeprefix(_MARK).strip()
            assert name not in blocks, f"{package}/{file}: block {name} stands twice"
            current = blocks[name] = []
        elif current is not None and not line.startswith("--"):
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in blocks.items()}
