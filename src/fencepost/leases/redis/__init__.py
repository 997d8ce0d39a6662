"""Leases in Redis: one server, or a master that sentinels watch. Needs Redis 6.2 or newer and the extra
`redis`.

**Who is authoritative.** The master, by its own clock. Every call is one script, which runs there alone:
nothing comes between its reading and its writing. The first thing that a script does is to ask whether it
runs on a master. A replica refuses writes by itself, but an answer that needs no write ("held by another",
"lost") would come from a copy that may know less.

**How the epoch comes about.** Under `{name}:epochs` there is a counter for each shard, which never
expires; a grant raises it. The lease itself, `{name}:lease:<shard>`, has the holder and the epoch, and
expires. Both have the same hash tag, so a fleet's keys are never apart.

**Expiry** is a moment of the master's calendar clock. One that is set back would keep a dead holder's lease
for as long. So the lease has the term that it was last granted or renewed for. Where Redis says that more
than that is left, the lease is free for any node that asks, and a renewal of its holder repairs it.

**What can be forgotten.** Redis answers before its replicas have heard and before its disk has: a failover
or a restart may forget a lease, and let the counter fall. So a grant's lineage holds the master's
replication id, read in the very script that grants. It is new after each start and each promotion, which
is when the counter may have fallen. (It also changes now and then when nothing was lost, as when a first
replica comes; that costs nothing.) What leaves the replication id as it is, a flush or an eviction, takes
the counters' mark of origin with them: a random text that lies in the same key and is made anew with it.
It is in the lineage too.

**What happens on failure.** No call is repeated: after a fault its connection is closed, all others of the
client with it because they lead to the same server, and every shard is `Unknown`. The next call connects
anew, and asks the sentinels where to. A repetition in here would tell a release whose answer was lost that
its lease was lost, and stretch calls whose time is already running. A caller that asks again does so with a
new time limit.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.leases.redis.leases import RedisLeases, open_leases
except ModuleNotFoundError as error:
    if error.name != "redis":
        raise
    raise MissingExtra("leases in Redis need a driver; run: pip install 'fencepost[redis]'") from error

__all__ = ["RedisLeases", "open_leases"]
