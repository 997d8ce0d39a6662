"""The double as a backend, and kubeconfigs for it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from tests.leases.kubernetes.double import Double
from tests.leases.kubernetes.harness import Body, KubernetesHarness, harness_on
from tests.servers.certificates import Certificates

TOKEN = {"token": "secret"}


class DoubleBackend:
    """See `Backend`."""

    def __init__(self, double: Double, namespace: str = "fleet") -> None:
        self.double = double
        self.url = f"http://127.0.0.1:{double.port}"
        self.namespace = namespace

    def kubeconfig(self, url: str, folder: Path) -> Path:
        return write_kubeconfig(folder / f"{url.rpartition(':')[2]}.kubeconfig", url)

    async def get(self, name: str) -> Body:
        return deepcopy(self.double.objects[self.namespace, name])

    async def put(self, body: Body) -> None:
        await self.double.put(self.namespace, body)

    async def delete(self, name: str) -> None:
        await self.double.delete(self.namespace, name)


@asynccontextmanager
async def started_double() -> AsyncIterator[Double]:
    double = Double()
    await double.start()
    try:
        yield double
    finally:
        await double.close()


@asynccontextmanager
async def harness_on_double(folder: Path) -> AsyncIterator[KubernetesHarness]:
    async with started_double() as double, harness_on(DoubleBackend(double), folder) as harness:
        yield harness


def server_context(certificates: Certificates, *, asks_clients: bool = False) -> ssl.SSLContext:
    """What the double needs to be spoken to by TLS, by anybody or by those with a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate_file, certificates.key_file)
    if asks_clients:
        context.load_verify_locations(certificates.authority_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def write_kubeconfig(
    path: Path,
    server: str,
    user: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    namespace: str = "fleet",
) -> Path:
    """A kubeconfig with one context, `main`, that is the current one."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "one", "user": "me", "namespace": namespace}}],
        "clusters": [{"name": "one", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "me", "user": dict(TOKEN if user is None else user)}],
    }
    path.write_text(yaml.safe_dump(config))
    return path
