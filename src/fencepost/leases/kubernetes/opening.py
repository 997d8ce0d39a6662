"""Opening: find the API server, and check at once that it grants the rights that nodes will need."""

from __future__ import annotations

import asyncio
import os

from fencepost.clock import Clock
from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.kubernetes.address import Place, parse_place
from fencepost.leases.kubernetes.api import Answer, Api
from fencepost.leases.kubernetes.faults import Denied, translated_at_open
from fencepost.leases.kubernetes.incluster import access_in_cluster, is_in_cluster
from fencepost.leases.kubernetes.kubeconfig import Access, access_by, default_paths
from fencepost.leases.kubernetes.lease import Names, first_grant
from fencepost.leases.kubernetes.lease_objects import LeaseObjects
from fencepost.leases.kubernetes.leases import CAVEATS, KubernetesLeases
from fencepost.model.identifiers import NodeId, Shard

OPEN_TIMEOUT_S = 5.0
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
REVIEWED = ("get", "watch", "update")
BLIND = "The API server's certificate is not verified (insecure-skip-tls-verify): any server may pose as it."
PROBE = NodeId("fencepost-probe")


async def open_leases(url: str, *, clock: Clock) -> KubernetesLeases:
    """Leases in the namespace that the URL names, once the API server has answered and granted its rights."""
    place = parse_place(url)
    try:
        access = await asyncio.to_thread(find_access, place, clock)
        api = Api(access.server, access.trust, access.credentials)
    except InvalidSettings as error:
        raise place.refuse(str(error)) from error
    namespace = place.namespace or access.namespace
    lease_objects = LeaseObjects(api, namespace, Names(place.name), clock)
    try:
        await _prepare(place, api)
        with translated_at_open(place, namespace):
            await _check(place, api, lease_objects, clock)
    except BaseException:
        await api.close()
        raise
    return KubernetesLeases(
        api, lease_objects, clock, (*CAVEATS, BLIND) if access.trust.is_blind else CAVEATS
    )


def find_access(place: Place, clock: Clock) -> Access:
    """By the kubeconfig that was named, else as this pod, else by the kubeconfig that kubectl would use."""
    if place.kubeconfig is not None:
        return access_by([place.kubeconfig], place.context, clock)
    if place.context is None and is_in_cluster(os.environ):
        return access_in_cluster(os.environ, clock)
    return access_by(default_paths(os.environ), place.context, clock)


async def _prepare(place: Place, api: Api) -> None:
    """The files and the plugin; the plugin bounds itself."""
    try:
        await api.prepare()
    except InvalidSettings as error:
        raise place.refuse(str(error)) from error
    except LeaseStoreUnavailable as error:
        raise LeaseStoreUnavailable(f"leases {place.shown}: {error}") from error


async def _check(place: Place, api: Api, lease_objects: LeaseObjects, clock: Clock) -> None:
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            await lease_objects.refresh()
            probe = await _probe(api, lease_objects, clock)
            for verb in REVIEWED:
                await _review(api, lease_objects.namespace, verb)
    except TimeoutError:
        raise LeaseStoreUnavailable(f"no answer in {OPEN_TIMEOUT_S:g} s") from None
    if probe is not None and probe.status == 404:
        raise place.refuse(
            f"there is no namespace {lease_objects.namespace}; run: kubectl create namespace "
            f"{lease_objects.namespace}"
        )


async def _probe(api: Api, lease_objects: LeaseObjects, clock: Clock) -> Answer | None:
    """Create a lease in a dry run: a list shows neither the right to create nor that a namespace does not
    exist."""
    name = lease_objects.names.object_name(Shard(0))
    body = first_grant(name, lease_objects.names.labels, PROBE, 1, clock.wall())
    try:
        return await api.call("POST", lease_objects.path, parameters={"dryRun": "All"}, body=body)
    except Denied:
        raise
    except LeaseStoreUnavailable:
        return None


async def _review(api: Api, namespace: str, verb: str) -> None:
    """Ask whether we may. Where that cannot be asked, the work will show."""
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": "coordination.k8s.io",
        "resource": "leases",
    }
    try:
        answer = await api.call("POST", REVIEWS, body={"spec": {"resourceAttributes": attributes}})
    except LeaseStoreUnavailable:
        return
    if not (answer.body.get("status") or {}).get("allowed", True):
        raise Denied(403, f"no right to {verb} leases in the namespace {namespace}")
