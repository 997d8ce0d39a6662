"""A Lease object: what it says, and how it reads after a grant, a renewal or a release.

An object is written back as it was read but for what we change, with its uid and `resourceVersion`, so that
other people's annotations survive, and so that a write is refused when the object is not the one that was
read. (A PUT without the uid would bring a deleted Lease back to life.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from fencepost.errors import LeaseStoreUnavailable
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Granted

UNSAID_TERM_S = 60
"""The term of a held lease that has no term. Fencepost does not make such leases."""
KIND = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
"""Left out where the object comes from a list."""
NOT_OURS_TO_WRITE = ("managedFields",)

Body = dict[str, Any]


class Names:
    """The names and labels of the objects of one fleet."""

    def __init__(self, name: str) -> None:
        self._prefix = f"{name}-shard-"
        self._pattern = re.compile(rf"{re.escape(self._prefix)}(0|[1-9]\d*)", re.ASCII)
        self.labels = {"app.kubernetes.io/managed-by": "fencepost", "fencepost/name": name}
        self.selector = ",".join(f"{key}={value}" for key, value in self.labels.items())

    def object_name(self, shard: Shard) -> str:
        return f"{self._prefix}{shard}"

    def shard_of(self, object_name: str) -> Shard | None:
        """The shard of an object, or None for what only looks like one of ours."""
        found = self._pattern.fullmatch(object_name)
        return Shard(int(found[1])) if found else None


@dataclass(frozen=True)
class Lease:
    """One version of an object. With a holder of None the lease is free."""

    name: str
    uid: str
    version: str
    holder: NodeId | None
    transitions: int
    term_s: int
    body: Mapping[str, Any] = field(repr=False)

    @property
    def epoch(self) -> Epoch:
        return Epoch(self.transitions + 1)

    @property
    def grant(self) -> Granted:
        return Granted(self.epoch, Lineage(f"kubernetes:{self.uid}"))

    def has(self, labels: Mapping[str, str]) -> bool:
        found = self.body["metadata"].get("labels") or {}
        return all(found.get(key) == value for key, value in labels.items())

    def is_version_of(self, other: Lease) -> bool:
        return (self.uid, self.version) == (other.uid, other.version)

    def is_older_than(self, other: Lease) -> bool:
        """Whether this is late news. Versions that are no numbers cannot be compared, and then nothing is."""
        both_numbers = self.version.isdecimal() and other.version.isdecimal()
        return both_numbers and int(self.version) < int(other.version)

    def granted_to(self, holder: NodeId, ttl_s: float, now: datetime) -> Body:
        return self._with(
            holderIdentity=holder,
            leaseDurationSeconds=whole_term_s(ttl_s),
            acquireTime=micro_time(now),
            renewTime=micro_time(now),
            leaseTransitions=self.transitions + 1,
        )

    def renewed(self, ttl_s: float, now: datetime) -> Body:
        return self._with(leaseDurationSeconds=whole_term_s(ttl_s), renewTime=micro_time(now))

    def released(self, now: datetime) -> Body:
        return self._with(holderIdentity="", renewTime=micro_time(now))

    def _with(self, **changes: object) -> Body:
        metadata = {
            key: value for key, value in self.body["metadata"].items() if key not in NOT_OURS_TO_WRITE
        }
        return {**KIND, **self.body, "metadata": metadata, "spec": {**self.body.get("spec", {}), **changes}}


def first_grant(name: str, labels: Mapping[str, str], holder: NodeId, ttl_s: float, now: datetime) -> Body:
    """The object of a shard that never had one."""
    return {
        **KIND,
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": whole_term_s(ttl_s),
            "acquireTime": micro_time(now),
            "renewTime": micro_time(now),
            "leaseTransitions": 0,
        },
    }


def lease_in(body: Mapping[str, Any]) -> Lease:
    """The lease that an object is."""
    try:
        metadata, spec = body["metadata"], body.get("spec") or {}
        return Lease(
            name=str(metadata["name"]),
            uid=str(metadata["uid"]),
            version=str(metadata["resourceVersion"]),
            holder=NodeId(str(spec["holderIdentity"])) if spec.get("holderIdentity") else None,
            transitions=int(spec.get("leaseTransitions") or 0),
            term_s=int(spec.get("leaseDurationSeconds") or UNSAID_TERM_S),
            body=body,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LeaseStoreUnavailable("the API server's answer is no Lease") from None


def whole_term_s(ttl_s: float) -> int:
    """A term in whole seconds, never shorter than asked for."""
    return max(1, math.ceil(ttl_s))


def micro_time(moment: datetime) -> str:
    """`2026-01-01T00:00:00.000000Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
