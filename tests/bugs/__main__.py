"""`python -m tests.bugs` plants every bug of the bank and tells who noticed it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from tests.bugs.bank import BANK, BY_NAME
from tests.bugs.hunt import SEEDS_MAX
from tests.bugs.table import Line, hunted, table_of
from tests.numbers import count


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code says whether every bug was noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bugs", description=__doc__)
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="only these; all of them otherwise")
    parser.add_argument("--json", action="store_true", help="as JSON rather than as a table")
    parser.add_argument("--seeds", type=count, default=SEEDS_MAX, help="at most so many worlds for each bug")
    asked = parser.parse_args(arguments)
    unknown = [one for one in asked.bugs if one not in BY_NAME]
    if unknown:
        parser.error(f"no such bug: {', '.join(unknown)}")
    names, found = asked.bugs or list(BY_NAME), dict[str, Line]()
    for number, line in enumerate(hunted(names, asked.seeds), start=1):
        said = "noticed" if line.violation else "NOT NOTICED"
        print(f"{number} of {len(names)}: {line.name} {said}", file=sys.stderr, flush=True)
        found[line.name] = line
    lines = [found[one.name] for one in BANK if one.name in found]
    print(json.dumps([asdict(one) for one in lines], indent=2) if asked.json else table_of(lines))
    return 0 if all(one.violation for one in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
