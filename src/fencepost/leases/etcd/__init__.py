"""Leases in etcd, through its v3 JSON gateway. Needs etcd 3.4 or newer and the extra `etcd`.

etcd is authoritative: its quorum decides which key exists, who put it and when its lease has run out, on its
leader's monotonic clock, and never by a clock of ours.

A held shard is one key, `<name>/leases/<shard>`, whose value names the holder and which hangs on an etcd
lease of its own. When that lease runs out, etcd deletes the key. The epoch is the key's create revision:
the number of the transaction that put it. etcd counts its transactions once for all keys and never
backwards, so every grant has a larger epoch than all before it, of any shard; and whatever is done to a key
that exists leaves its create revision alone, so a renewal has the epoch of its grant.

etcd counts from one again when its data is lost, and then still has the same cluster id, because that is
made from its settings. So a client that finds no mark beside the leases puts an unpredictable one there. The
mark is part of the lineage: an etcd that forgot everything forgot its mark as well.

On failure: a request that no endpoint received is tried at the next endpoint. A request that may have been
carried out is repeated only if it does no harm twice; a transaction never is, and its shards are `Unknown`. A
caller without an answer asks again and finds the key under its own name, or does not. The arguments are in
`acquiring`, `renewing` and `releasing`.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.leases.etcd.store import EtcdLeases, open_leases
except ModuleNotFoundError as error:
    if error.name != "aiohttp":
        raise
    raise MissingExtra("leases in etcd need a driver; run: pip install 'fencepost[etcd]'") from error

__all__ = ["EtcdLeases", "open_leases"]
