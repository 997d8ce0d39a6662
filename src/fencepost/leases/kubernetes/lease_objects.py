"""The Lease objects of one fleet: each call is one request, and what it shows goes into the
observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fencepost.clock import Clock
from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.kubernetes.api import Api
from fencepost.leases.kubernetes.lease import Lease, Names, lease_in
from fencepost.leases.kubernetes.observations import Observations, Seen
from fencepost.model.identifiers import Shard


class LeaseObjects:
    """Reads and writes; judges nothing."""

    def __init__(self, api: Api, namespace: str, names: Names, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self.namespace = namespace
        self.names = names
        self.path = f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace, safe='')}/leases"
        self.observations = Observations(clock)

    def shards(self) -> dict[Shard, Seen]:
        """What was last seen of each shard."""
        seen = {self.names.shard_of(one.lease.name): one for one in self.observations.ours(self.names.labels)}
        return {shard: one for shard, one in seen.items() if shard is not None}

    async def refresh(self) -> str:
        """Look at all objects; returns the version of the whole, from which a watch can go on."""
        sent_at = self._clock.monotonic()
        answer = await self._api.call("GET", self.path, parameters={"labelSelector": self.names.selector})
        if not answer.is_success:
            raise LeaseStoreUnavailable(f"the API server answered {answer.status} to a list of leases")
        self.observations.listed(map(lease_in, answer.body.get("items") or ()), sent_at)
        return str((answer.body.get("metadata") or {}).get("resourceVersion", ""))

    async def look(self, name: str) -> None:
        """Read one object, also one that another program made."""
        sent_at = self._clock.monotonic()
        answer = await self._api.call("GET", f"{self.path}/{name}")
        if answer.status == 404:
            self.observations.missed(name, sent_at)
        elif answer.is_success:
            self.observations.read(lease_in(answer.body), sent_at)
        else:
            raise LeaseStoreUnavailable(f"the API server answered {answer.status} to a reading")

    def hear(self, lease: Lease, *, is_gone: bool) -> None:
        """Take in an event of the watch. Late news is recognised by its version."""
        if not is_gone:
            self.observations.read(lease, self._clock.monotonic())
            return
        known = self.observations.get(lease.name)
        if known is not None and known.lease.uid == lease.uid:
            self.observations.missed(lease.name, self._clock.monotonic())

    async def create(self, name: str, body: Mapping[str, Any]) -> Lease | None:
        """Make an object that is not there; None where another process was faster."""
        sent_at = self.observations.writing(name)
        answer = await self._api.call("POST", self.path, body=body)
        if answer.status == 404:
            raise LeaseStoreUnavailable(
                f"there is no namespace {self.namespace}; run: kubectl create namespace {self.namespace}"
            )
        if answer.status == 409:
            return None
        lease = lease_in(answer.body)
        self.observations.wrote(lease, sent_at)
        return lease

    async def replace(self, name: str, body: Mapping[str, Any], *, frees: bool = False) -> Lease | None:
        """Write the version after the one that the body was made from; None where that is not the last."""
        sent_at = self.observations.writing(name, frees=frees)
        answer = await self._api.call("PUT", f"{self.path}/{name}", body=body)
        if not answer.is_success:
            return None
        lease = lease_in(answer.body)
        self.observations.wrote(lease, sent_at)
        return lease
