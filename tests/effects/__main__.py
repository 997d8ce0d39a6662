"""`make effects`: the long effect drill, on PostgreSQL and on SQLite, with its figures."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.effects import programme
from tests.effects.accounts import Found
from tests.effects.drill import Drill, Plan
from tests.servers.postgres import PostgresServer

LONG = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make effects", description=__doc__)
    parser.add_argument("--scale", type=float, default=LONG, help="how many times what the suite does")
    parser.add_argument("--only", default="", choices=["", "postgres", "sqlite"])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    codes = []
    with tempfile.TemporaryDirectory() as folder:
        if options.only in ("", "postgres"):
            with closing(PostgresServer(durable=True, max_connections="300")) as server:
                for make in (programme.on_postgres, programme.without_transactions):
                    plan, place = make(options.scale, options.seed), Path(folder, make.__name__)
                    codes.append(_play("postgres", server.create_empty_database(), place, plan))
        if options.only in ("", "sqlite"):
            plan = programme.on_sqlite(options.scale, options.seed)
            codes.append(_play("sqlite", f"sqlite:///{folder}/ledger.db", Path(folder, "on_sqlite"), plan))
    return max(codes)


def _play(name: str, url: str, folder: Path, plan: Plan) -> int:
    folder.mkdir()
    found = asyncio.run(Drill(url, folder, plan).play())
    _show(name, plan, found)
    wrong = programme.shortcomings(plan, found)
    for one in wrong:
        print(f"  WRONG: {one}")
    return 1 if wrong else 0


def _show(name: str, plan: Plan, found: Found) -> None:
    print(f"{name}: {found.runs:,} runs on {plan.workers} workers in {found.seconds:.0f} s, seed {plan.seed}")
    for job, count in plan.counts.items():
        print(f"  {job:<32} {count:>7,}")
    for word in ("kills", "stalls", "rescued", "told_lost", "overtaken", "plain_doubled", "lost_for_good"):
        print(f"  {word:<32} {getattr(found, word):>7,}")


if __name__ == "__main__":
    sys.exit(main())
