"""The parts of a migration's file, and the way in which each is applied.

A file begins with what happens at once or not at all. After `-- way: concurrently` come indexes that are
built or dropped while others write, one statement at a time and in no transaction. After `-- way: batches`
comes one statement that changes at most $1 rows and returns them; it is repeated until it changes none.
`-- way: transaction` begins another part that happens at once.

The number of a migration is recorded after its last part. One that was cut off begins again with its first,
and so does one after a downgrade: each statement says `IF NOT EXISTS`, or finds nothing left to change.
"""

from __future__ import annotations

import re
from enum import StrEnum

from fencepost.model.dataclasses import dataclass

_WAY = re.compile(r"^-- way: (\w+)$", re.MULTILINE)
_STATEMENT_END = re.compile(r";\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*$", re.MULTILINE)
_INDEX = re.compile(r"CREATE\s+INDEX\s+CONCURRENTLY\s+IF\s+NOT\s+EXISTS\s+(\w+)\s+ON ")


class Way(StrEnum):
    """How a part is applied."""

    TRANSACTION = "transaction"
    CONCURRENTLY = "concurrently"
    BATCHES = "batches"


@dataclass(frozen=True)
class Part:
    """Consecutive statements that are applied in one way."""

    way: Way
    text: str

    @property
    def statements(self) -> list[str]:
        """Each by itself; only for ways other than `transaction`."""
        return [one.strip() for one in _STATEMENT_END.split(_COMMENT.sub("", self.text)) if one.strip()]


def parts_of(script: str) -> list[Part]:
    """The parts of a file, in order; what has no statement is no part."""
    first, *others = _WAY.split(script)
    ways, texts = others[::2], others[1::2]
    parts = [Part(Way.TRANSACTION, first), *map(Part, map(Way, ways), texts)]
    return [one for one in parts if one.statements]


def index_built(statement: str) -> str | None:
    """The name of the index that a statement builds concurrently."""
    found = _INDEX.match(statement)
    return None if found is None else found[1]
