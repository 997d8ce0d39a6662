"""What a lease on Kubernetes relies on, asked of a real API server: versions, conflicts, watches, rights."""

import asyncio
import json
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest

from tests.servers.binaries import ServerMissing
from tests.servers.kubernetes import Access, KubernetesServer, Refused, Rule

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(180)]

WATCH_TIMEOUT_S = 10.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
MAY_LEASE = Rule(("get", "create", "update", "watch"), "leases")

Lease = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[KubernetesServer]:
    try:
        server = KubernetesServer()
    except ServerMissing as missing:
        pytest.skip(str(missing))
    yield server
    server.close()


@pytest.fixture
def namespace(server: KubernetesServer) -> str:
    return server.create_namespace()


@pytest.fixture
async def leases(server: KubernetesServer, namespace: str) -> AsyncIterator["Leases"]:
    """As one who may do with leases what a node must, and no more."""
    async with Leases(server.create_user("node", MAY_LEASE, namespace=namespace)) as leases:
        yield leases


class Leases:
    """The Lease calls of one user, as they go over the wire."""

    def __init__(self, access: Access) -> None:
        self._path = LEASES.format(namespace=access.namespace)
        self._session = aiohttp.ClientSession(
            access.url,
            connector=aiohttp.TCPConnector(ssl=access.context()),
            headers={"Authorization": f"Bearer {access.token}"},
        )

    async def __aenter__(self) -> "Leases":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def create(self, holder: str) -> tuple[int, Lease]:
        return await self._call("POST", "", lease_of(holder))

    async def get(self) -> Lease:
        status, lease = await self._call("GET", "/shard-0")
        assert status == 200
        return lease

    async def replace(self, lease: Lease) -> tuple[int, Lease]:
        return await self._call("PUT", "/shard-0", lease)

    async def delete(self) -> int:
        return (await self._call("DELETE", "/shard-0"))[0]

    def watch(self, version: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Everything that happens to the lease after that version, one event a line."""
        asked = {"watch": "1", "fieldSelector": "metadata.name=shard-0", "resourceVersion": version}
        return self._session.get(self._path, params=asked)

    async def _call(self, method: str, name: str, body: Lease | None = None) -> tuple[int, Lease]:
        async with self._session.request(method, self._path + name, json=body) as answer:
            return answer.status, await answer.json()


async def test_a_lease_is_not_created_twice(leases: Leases) -> None:
    assert (await leases.create("first"))[0] == 201

    status, refusal = await leases.create("second")

    assert (status, refusal["reason"]) == (409, "AlreadyExists")
    assert holder_of(await leases.get()) == "first"


async def test_a_stale_replace_changes_nothing(leases: Leases) -> None:
    _, stale = await leases.create("first")
    await leases.replace(held_by("second", stale))

    status, refusal = await leases.replace(held_by("third", stale))

    assert (status, refusal["reason"]) == (409, "Conflict")
    assert holder_of(await leases.get()) == "second"


async def test_only_one_of_many_takeovers_at_once_succeeds(leases: Leases) -> None:
    _, lease = await leases.create("first")
    rivals = [f"rival-{number}" for number in range(8)]

    answers = await asyncio.gather(*(leases.replace(held_by(rival, lease)) for rival in rivals))

    assert sorted(status for status, _ in answers) == [200] + [409] * 7
    [winner] = [rival for rival, (status, _) in zip(rivals, answers, strict=True) if status == 200]
    taken = await leases.get()
    assert holder_of(taken) == winner
    assert taken["spec"]["leaseTransitions"] == 1


async def test_no_replace_without_a_version(leases: Leases) -> None:
    _, lease = await leases.create("first")
    del lease["metadata"]["resourceVersion"]

    status, _ = await leases.replace(held_by("second", lease))

    assert status == 422
    assert holder_of(await leases.get()) == "first"


async def test_a_watch_tells_of_a_takeover(leases: Leases) -> None:
    _, lease = await leases.create("first")

    async with asyncio.timeout(WATCH_TIMEOUT_S), leases.watch(lease["metadata"]["resourceVersion"]) as events:
        await leases.replace(held_by("second", lease))
        event = json.loads(await events.content.readline())

    assert (event["type"], holder_of(event["object"])) == ("MODIFIED", "second")


async def test_a_lease_made_anew_is_not_the_old_one(server: KubernetesServer, namespace: str) -> None:
    async with Leases(server.create_user("keeper", Rule(("*",), "leases"), namespace=namespace)) as leases:
        _, old = await leases.create("first")
        assert await leases.delete() == 200
        _, new = await leases.create("first")
        status, _ = await leases.replace(held_by("second", old))

    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert status == 409


async def test_nobody_has_rights_that_were_not_given(leases: Leases) -> None:
    await leases.create("first")

    assert await leases.delete() == 403
    assert holder_of(await leases.get()) == "first"


async def test_rights_do_not_reach_into_another_namespace(server: KubernetesServer, namespace: str) -> None:
    node = server.create_user("node", MAY_LEASE, namespace=namespace)

    with pytest.raises(Refused) as refused:
        server.call("GET", f"{LEASES.format(namespace='default')}/shard-0", token=node.token)

    assert refused.value.status == 403


async def test_a_right_for_one_name_is_none_for_another(server: KubernetesServer, namespace: str) -> None:
    node = server.create_user("node", Rule(("get",), "leases", names=("shard-0",)), namespace=namespace)
    path = LEASES.format(namespace=namespace)

    assert [status_of(server, f"{path}/shard-{number}", node.token) for number in (0, 1)] == [404, 403]


async def test_a_wrong_token_is_nobody(server: KubernetesServer) -> None:
    assert status_of(server, "/api/v1/namespaces", "wrong") == 401


async def test_a_kubeconfig_holds_all_that_a_client_needs(server: KubernetesServer, namespace: str) -> None:
    node = server.create_user("node", MAY_LEASE, namespace=namespace)
    config = pytest.importorskip("yaml").safe_load(node.kubeconfig.read_text())
    [cluster], [user], [context] = config["clusters"], config["users"], config["contexts"]
    authority = b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
    url = cluster["cluster"]["server"] + LEASES.format(namespace=context["context"]["namespace"]) + "/shard-0"
    headers = {"Authorization": f"Bearer {user['user']['token']}"}

    async with aiohttp.request(
        "GET", url, headers=headers, ssl=ssl.create_default_context(cadata=authority)
    ) as answer:
        assert answer.status == 404

    assert (context["context"]["cluster"], context["context"]["user"]) == (cluster["name"], user["name"])
    assert context["name"] == config["current-context"]


async def test_what_was_stored_outlives_the_server(server: KubernetesServer, leases: Leases) -> None:
    _, lease = await leases.create("first")

    await asyncio.to_thread(server.restart)

    assert (await leases.get())["metadata"] == lease["metadata"]


def lease_of(holder: str) -> Lease:
    """A lease as its first holder writes it."""
    return {"metadata": {"name": "shard-0"}, "spec": {"holderIdentity": holder, "leaseTransitions": 0}}


def held_by(holder: str, lease: Lease) -> Lease:
    """The same lease, at the version that was read, in another's hands."""
    transitions = lease["spec"]["leaseTransitions"] + 1
    return lease | {"spec": lease["spec"] | {"holderIdentity": holder, "leaseTransitions": transitions}}


def holder_of(lease: Lease) -> str:
    holder: str = lease["spec"]["holderIdentity"]
    return holder


def status_of(server: KubernetesServer, path: str, token: str) -> int:
    """With what the server refuses to show a page."""
    with pytest.raises(Refused) as refused:
        server.call("GET", path, token=token)
    return refused.value.status
