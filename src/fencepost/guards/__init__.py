"""Guards: writes to other systems that refuse a stale attempt.

The ledger fences its own writes. It cannot fence the world: an attempt that stalled, was given up and wakes
up again still holds its connections. What it sends can only be refused where it arrives, by a system that
keeps the largest fence seen so far beside the data and compares in the same step in which it writes.

| what writes late | a plain write | a guarded write |
| --- | --- | --- |
| the same attempt, again | done again | done again: an equal fence passes |
| an attempt that lost its run, after its successor | overwrites it | refused with `StaleFence` |
| an attempt that lost its run, before its successor | stands until the successor's | the same |
| a successor whose predecessor's answer was lost | done again | done again, over the same row |

So a guard makes the last attempt win; it does not make an effect happen once. For that the write itself has
to be the same when it is repeated: a row under a key, not one more row. A guard forgets with its record: a
row that is deleted, a key that expires or a server that lost its last writes lets an old fence in again.

Nothing here imports a driver: a guard is a statement, a script or a set of headers for a client of yours.
"""

from fencepost.guards.http import headers
from fencepost.guards.redis import FencedKey
from fencepost.guards.sql import FencedStatement, fenced_update, fenced_upsert

__all__ = ["FencedKey", "FencedStatement", "fenced_update", "fenced_upsert", "headers"]
