"""The manifests before a real API server: it takes all of them, and finds no pod too powerful."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from typing import Any
from urllib.parse import urlencode

import pytest

from scripts.manifests import CHART, PLAIN_VALUES, run_helm
from tests.deploy.charts import OPTIONS, PLAIN, Manifest, manifests, needs_helm, values_file
from tests.servers.binaries import ServerMissing
from tests.servers.kubernetes import ISSUER, KubernetesServer, Refused
from tests.servers.process import wait_until

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300), needs_helm]

OLDEST = (1, 25)
PLURALS = {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses"}
EACH = (PLAIN, *OPTIONS)
MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
"""Stands for the Prometheus operator's own: the kind, without its schema."""


@pytest.fixture(scope="module")
def server() -> Iterator[KubernetesServer]:
    try:
        server = KubernetesServer()
    except ServerMissing as missing:
        pytest.skip(str(missing))
    with closing(server):
        if server.version() < OLDEST:
            pytest.skip("Kubernetes 1.25 or newer is needed: scripts/kubernetes-server builds it where Go is")
        server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", MONITORS)
        kind = "/apis/monitoring.coreos.com/v1/servicemonitors"
        wait_until(lambda: answers(server, kind), lambda: "the kind ServiceMonitor does not come")
        yield server


@pytest.fixture
def namespace(server: KubernetesServer) -> str:
    """One that takes no pod which is not restricted, and says so of whatever would make such pods."""
    name = server.create_namespace()
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    patch(server, f"/api/v1/namespaces/{name}", namespaced("Namespace", name, labels))
    for account in ("default", "fencepost", "billing", "fencepost-cron"):
        path = f"/api/v1/namespaces/{name}/serviceaccounts/{account}"
        patch(server, path, namespaced("ServiceAccount", account, {}))
    return name


@pytest.mark.parametrize("option", EACH)
def test_the_server_takes_every_manifest(option: str, server: KubernetesServer, namespace: str) -> None:
    for one in manifests(option, namespace=namespace):
        patch(server, place(one), one)


@pytest.mark.parametrize("option", EACH)
def test_what_is_applied_twice_changes_nothing(option: str, server: KubernetesServer, namespace: str) -> None:
    for one in manifests(option, namespace=namespace):
        first = patch(server, place(one), one)
        again = patch(server, place(one), one)
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], one["kind"]


@pytest.mark.parametrize("option", EACH)
def test_no_pod_needs_more_than_a_restricted_namespace_gives(
    option: str, server: KubernetesServer, namespace: str
) -> None:
    everything = manifests(option, namespace=namespace)
    for one in everything:
        if one["kind"] == "ServiceAccount":
            patch(server, place(one), one)
    for one in everything:
        if one["kind"] in ("Deployment", "Job"):
            template = one["spec"]["template"]
            pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]}
            pod["spec"].pop("priorityClassName", None)
            pod["metadata"] = {"name": one["metadata"]["name"], "labels": template["metadata"]["labels"]}
            server.call("POST", f"/api/v1/namespaces/{namespace}/pods", pod)


def test_schedulers_may_keep_leases_and_workers_may_not(server: KubernetesServer, namespace: str) -> None:
    for one in manifests("leases", namespace=namespace):
        patch(server, place(one), one)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    name = "fencepost-cron"
    (scheduler, worker) = (token(server, namespace, account) for account in (name, f"{name}-worker"))
    wait_until(lambda: answers(server, leases, scheduler), lambda: "the role has no effect")

    lease = {"metadata": {"name": f"{name}-shard-0"}, "spec": {"holderIdentity": "a"}}
    made = server.call("POST", leases, lease, scheduler)
    made["spec"]["holderIdentity"] = "b"
    server.call("PUT", f"{leases}/{name}-shard-0", made, scheduler)

    for forbidden, who in (("secrets", scheduler), ("pods", scheduler), ("secrets", worker)):
        assert not answers(server, f"/api/v1/namespaces/{namespace}/{forbidden}", who)
    assert not answers(server, leases, worker)
    with pytest.raises(Refused) as refused:
        server.call("DELETE", f"{leases}/{name}-shard-0", token=scheduler)
    assert refused.value.status == 403


@pytest.mark.parametrize("option", OPTIONS)
def test_helm_installs_and_upgrades(option: str, server: KubernetesServer) -> None:
    name = server.create_namespace()
    cluster = ("--kubeconfig", server.admin.kubeconfig, "--namespace", name, "--no-hooks")
    for values in (PLAIN_VALUES, values_file(option)):
        options = ("--install", "--values", PLAIN_VALUES, "--values", values, "--output", "json")
        told = json.loads(run_helm("upgrade", "fencepost", CHART, *cluster, *options))
        assert told["info"]["status"] == "deployed"


def patch(server: KubernetesServer, path: str, manifest: Manifest) -> dict[str, Any]:
    """Server-side apply; an unknown field or a warning is a fault."""
    query = urlencode({"fieldManager": "tests", "fieldValidation": "Strict", "force": "true"})
    connection = HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.admin.context())
    headers = {
        "Authorization": f"Bearer {server.admin.token}",
        "Content-Type": "application/apply-patch+yaml",
    }
    with closing(connection):
        connection.request("PATCH", f"{path}?{query}", json.dumps(manifest), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    assert answer.status < 300, f"{manifest['kind']}: {text}"
    assert answer.headers.get_all("Warning") is None, manifest["kind"]
    applied: dict[str, Any] = json.loads(text)
    return applied


def place(manifest: Manifest) -> str:
    """Where the server keeps it."""
    version, kind, meta = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    return f"{root}/namespaces/{meta['namespace']}/{plural}/{meta['name']}"


def namespaced(kind: str, name: str, labels: dict[str, str]) -> Manifest:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}}


def token(server: KubernetesServer, namespace: str, account: str) -> str:
    """As a pod of that account would carry it."""
    asked = {"spec": {"audiences": [ISSUER], "expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    made: str = server.call("POST", path, asked)["status"]["token"]
    return made


def answers(server: KubernetesServer, path: str, who: str | None = None) -> bool:
    """Whether the server shows that page."""
    try:
        return bool(server.call("GET", path, token=who))
    except Refused:
        return False
