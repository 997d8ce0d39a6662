"""Leases as Lease objects of a Kubernetes API server. Needs the extra `kubernetes`.

Each shard has one object of coordination.k8s.io/v1, `<name>-shard-<n>`, whose `holderIdentity` is the
holder; an empty one is free. The API server is authoritative about **what is written**: every write carries
the `resourceVersion` (and the uid) that it was decided upon, and one that came second is refused with 409.
It decides nothing about **expiry**, because it has no clock for that. So each process judges expiry for
itself, by "has the record changed?": a lease has run out when this process has seen one and the same version
of it for the whole `leaseDurationSeconds` by its own monotonic clock. The times in the object are for people;
they are never compared.

Two counts begin at different ends, so that the doubt falls on the careful side (`observations.py`):

- A **rival** counts from when it had the answer that first showed the version: it was written before that.
- The **holder** counts from when it sent the request that wrote the version: it was written after that.

A process that has just met a lease therefore waits a whole term, whatever the object says of its age. The
watch is more than a hint here: it shows each version as it comes, so that a standby has been counting all
along.

**The epoch** is `leaseTransitions + 1`, and `leaseTransitions` rises at every grant, also to the same
holder. A released object stays, so that the count goes on. Deleting the object ends the count with it; the
next object has another uid, and the uid is the lineage.

**Failure.** A write without an answer may have happened or may yet: the shard's answer is `Unknown`, and
the next call reads what is. Until the version is seen to change, that write is remembered
(`Observations.writing`): what it may have written counts from when it was sent, and what a doubtful release
may have freed is granted anew rather than confirmed, because the release may still arrive, and then finds
another version.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.leases.kubernetes.leases import KubernetesLeases
    from fencepost.leases.kubernetes.opening import open_leases
except ModuleNotFoundError as error:
    if error.name not in {"aiohttp", "yaml"}:
        raise
    raise MissingExtra(
        "leases on Kubernetes need a driver; run: pip install 'fencepost[kubernetes]'"
    ) from error

__all__ = ["KubernetesLeases", "open_leases"]
