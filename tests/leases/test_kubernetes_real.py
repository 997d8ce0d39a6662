"""Leases on Kubernetes keep the contract before a real API server, with the rights of the example's manifest
only."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from fencepost.clock import SystemClock
from fencepost.errors import InvalidSettings
from fencepost.leases.kubernetes import incluster, open_leases
from fencepost.model.identifiers import Epoch, Shard
from fencepost.model.lease import Granted, HeldBy, Lost, Unknown
from fencepost.testing.conformance.builders import ALICE, BOB
from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.leases.kubernetes.behaviour import KubernetesBehaviour, until
from tests.leases.kubernetes.harness import Body, KubernetesHarness, harness_on
from tests.servers.binaries import ServerMissing
from tests.servers.kubernetes import ISSUER, RBAC, Access, KubernetesServer, Refused, Rule
from tests.servers.process import wait_until

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(180)]

MANIFEST = Path(__file__).parents[2] / "examples" / "kubernetes" / "leases-rbac.yaml"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
PLACES = {"ServiceAccount": "/api/v1/namespaces/{0}/serviceaccounts"} | {
    kind: f"{RBAC}/namespaces/{{0}}/{kind.lower()}s" for kind in ("Role", "RoleBinding")
}
SHARD = Shard(0)
TTL_S = 1.0


@pytest.fixture(scope="module")
def server() -> Iterator[KubernetesServer]:
    try:
        server = KubernetesServer()
    except ServerMissing as missing:
        pytest.skip(str(missing))
    yield server
    server.close()


@pytest.fixture(scope="module")
def node(server: KubernetesServer, tmp_path_factory: pytest.TempPathFactory) -> Access:
    """Whoever the manifest makes, in a namespace of its own, with the manifest's rights only."""
    namespace = server.create_namespace()
    for document in yaml.safe_load_all(MANIFEST.read_text()):
        for subject in document.get("subjects", ()):
            subject["namespace"] = namespace
        server.call("POST", PLACES[document["kind"]].format(namespace), document)
    asked = {"spec": {"audiences": [ISSUER], "expirationSeconds": 3600}}
    account = f"{PLACES['ServiceAccount'].format(namespace)}/fencepost/token"
    token = server.call("POST", account, asked)["status"]["token"]
    wait_until(lambda: may_list(server, namespace, token), lambda: "the manifest has no effect")
    config = yaml.safe_load(server.admin.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token
    config["contexts"][0]["context"]["namespace"] = namespace
    kubeconfig = tmp_path_factory.mktemp("node") / "config"
    kubeconfig.write_text(yaml.safe_dump(config))
    return Access(server.url, namespace, token, server.admin.authority_file, kubeconfig)


def may_list(server: KubernetesServer, namespace: str, token: str) -> bool:
    """The server learns of new rights a moment after it has stored them."""
    try:
        return bool(server.call("GET", LEASES.format(namespace=namespace), token=token))
    except Refused:
        return False


class RealBackend:
    """See `Backend`."""

    def __init__(self, server: KubernetesServer, node: Access) -> None:
        self.url = server.url
        self.namespace = node.namespace
        self._server = server
        self._node = node
        self._path = LEASES.format(namespace=node.namespace)

    def kubeconfig(self, url: str, folder: Path) -> Path:
        path = folder / f"{url.rpartition(':')[2]}.kubeconfig"
        path.write_text(self._node.kubeconfig.read_text().replace(self._node.url, url))
        return path

    async def get(self, name: str) -> Body:
        return await self._call("GET", f"{self._path}/{name}")

    async def put(self, body: Body) -> None:
        if "uid" in body["metadata"]:
            await self._call("PUT", f"{self._path}/{body['metadata']['name']}", body)
        else:
            await self._call("POST", self._path, body)

    async def delete(self, name: str) -> None:
        await self._call("DELETE", f"{self._path}/{name}")

    async def _call(self, method: str, path: str, body: Body | None = None) -> Body:
        return await asyncio.to_thread(self._server.call, method, path, body)


@pytest.fixture
async def harness(server: KubernetesServer, node: Access, tmp_path: Path) -> AsyncIterator[KubernetesHarness]:
    async with harness_on(RealBackend(server, node), tmp_path) as harness:
        yield harness


class TestRealKubernetesLeases(LeaseConformance, HintContract):
    """See `LeaseConformance`."""


class TestRealKubernetesBehaviour(KubernetesBehaviour):
    """See `KubernetesBehaviour`."""


async def test_the_manifest_does_not_grant_more_than_the_leases_need(
    server: KubernetesServer, node: Access
) -> None:
    path = LEASES.format(namespace=node.namespace)
    for method, page in (("DELETE", f"{path}/any"), ("GET", "/api/v1/namespaces")):
        with pytest.raises(Refused) as refused:
            server.call(method, page, token=node.token)
        assert refused.value.status == 403


@pytest.mark.parametrize("missing", ["get", "list", "watch", "create", "update"])
async def test_no_right_can_be_missing_unnoticed(server: KubernetesServer, missing: str) -> None:
    verbs = tuple(verb for verb in ("get", "list", "watch", "create", "update") if verb != missing)
    access = server.create_user("node", Rule(verbs, "leases"), namespace=server.create_namespace())
    with pytest.raises(InvalidSettings, match=r"leases-rbac\.yaml") as refused:
        await open_leases(f"kubernetes://?kubeconfig={access.kubeconfig}", clock=SystemClock())
    assert missing in str(refused.value)
    assert access.token not in str(refused.value)


async def test_a_namespace_that_is_not_there_is_not_accepted(server: KubernetesServer) -> None:
    url = f"kubernetes://nowhere?kubeconfig={server.admin.kubeconfig}"
    with pytest.raises(InvalidSettings, match="kubectl create namespace nowhere"):
        await open_leases(url, clock=SystemClock())


async def test_a_wrong_token_is_not_accepted(server: KubernetesServer, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(server.admin.kubeconfig.read_text().replace(server.admin.token, "wrong"))
    with pytest.raises(InvalidSettings, match="token"):
        await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=SystemClock())


async def test_a_pod_needs_no_kubeconfig(
    server: KubernetesServer, node: Access, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(node.token)
    (tmp_path / "ca.crt").write_bytes(node.authority_file.read_bytes())
    (tmp_path / "namespace").write_text(node.namespace)
    monkeypatch.setattr(incluster, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    leases = await open_leases("kubernetes://?name=pod", clock=SystemClock())
    answers = await leases.acquire([SHARD], ALICE, TTL_S)
    await leases.close()
    assert isinstance(answers[SHARD], Granted)


async def test_by_real_clocks_a_lease_is_neither_taken_early_nor_kept_for_ever(node: Access) -> None:
    url = f"kubernetes://?name=real-time&kubeconfig={node.kubeconfig}"
    clock = SystemClock()
    alices, bobs = await open_leases(url, clock=clock), await open_leases(url, clock=clock)
    sent_at = clock.monotonic()
    first = (await alices.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(first, Granted)
    while not isinstance(answer := (await bobs.acquire([SHARD], BOB, TTL_S))[SHARD], Granted):
        assert isinstance(answer, HeldBy)
        assert clock.monotonic() - sent_at < 10 * TTL_S
        await asyncio.sleep(0.05)
    assert clock.monotonic() - sent_at >= TTL_S
    assert answer.epoch == first.epoch + 1
    assert await alices.renew({SHARD: first.epoch}, ALICE, TTL_S) == {SHARD: Lost()}
    await alices.close()
    await bobs.close()


async def test_a_restart_of_the_server_does_not_end_the_leases_nor_the_watch(
    server: KubernetesServer, node: Access
) -> None:
    url = f"kubernetes://?name=restart&kubeconfig={node.kubeconfig}"
    leases = await open_leases(url, clock=SystemClock())
    heard: list[float] = []
    stop = await leases.watch(lambda: heard.append(SystemClock().monotonic()))
    assert isinstance((await leases.acquire([SHARD], ALICE, 60.0))[SHARD], Granted)
    assert heard == [], "only what may be free is told"
    await asyncio.to_thread(server.kill)
    assert isinstance((await leases.renew({SHARD: Epoch(1)}, ALICE, 60.0))[SHARD], Unknown)
    await asyncio.to_thread(server.start)
    assert isinstance((await leases.renew({SHARD: Epoch(1)}, ALICE, 60.0))[SHARD], Granted)
    await until(lambda: len(heard) >= 1)
    stop()
    await leases.close()


async def test_another_authority_is_not_trusted(server: KubernetesServer, tmp_path: Path) -> None:
    config = yaml.safe_load(server.admin.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(yaml.safe_dump(config))
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
    with pytest.raises(InvalidSettings, match="certificate"):
        await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=SystemClock())
