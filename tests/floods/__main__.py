"""Every flood against both stores, with their table: `python -m tests.floods`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.floods.client import KINDS
from tests.floods.drill import HEAD, Outcome, postgres_stores, run_floods, sqlite_stores
from tests.servers.postgres import PostgresServer


def main() -> int:
    """1 where a promise was not kept."""
    parser = argparse.ArgumentParser("python -m tests.floods")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each flood lasts")
    parser.add_argument("--only", choices=list(KINDS), action="append", help="only this flood")
    given = parser.parse_args()
    print(HEAD)
    faults = []
    for one in outcomes(given.only or list(KINDS), given.seconds):
        print(one.row, flush=True)
        faults += [f"{one.store}, {one.kind}: {fault}" for fault in one.faults]
    print("\n".join(faults) or "every promise was kept")
    return 1 if faults else 0


def outcomes(kinds: list[str], for_s: float) -> Iterator[Outcome]:
    with TemporaryDirectory() as folder:
        yield from run_floods(kinds, sqlite_stores(Path(folder)), for_s)
    with closing(PostgresServer()) as server:
        yield from run_floods(kinds, postgres_stores(server), for_s)


if __name__ == "__main__":
    sys.exit(main())
