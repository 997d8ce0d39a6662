"""Where the leases of a drill live: how to put a bad network before them, and how a node is told of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.servers.kubernetes import KubernetesServer

Address = tuple[str, int]

POSTGRES = "postgres"
SQLITE = "sqlite"
ETCD = "etcd"
REDIS = "redis"
MONGODB = "mongodb"
KUBERNETES = "kubernetes"


@dataclass(frozen=True)
class LeasePlace:
    """One lease store. One that is not in the ledger has an address; `url` names it as seen through a
    proxy. Where the leases are in a ledger on MongoDB, `ledger` is that."""

    name: str
    address: Address | None = None
    url: Callable[[str], str] = lambda through: ""
    ledger: str = ""


def own(ledger: str) -> LeasePlace:
    """The ledger's own leases."""
    return LeasePlace(ledger)


def in_mongodb(url: str) -> LeasePlace:
    """A fresh ledger with its leases; see `on_mongodb`."""
    return LeasePlace("mongodb-own", ledger=url.replace("/?", f"/{fresh_name()}?directConnection=true&"))


def on_etcd(url: str) -> LeasePlace:
    name = fresh_name()
    return LeasePlace(ETCD, _address(url), lambda through: f"etcd://{through}?name={name}")


def on_redis(url: str) -> LeasePlace:
    name = fresh_name()
    return LeasePlace(REDIS, _address(url), lambda through: f"redis://{through}/0?name={name}")


def on_mongodb(url: str) -> LeasePlace:
    """A replica set tells its clients its own addresses, which lead past the proxy: do not ask for them."""
    query = f"directConnection=true&{urlsplit(url).query}&name={fresh_name()}"
    return LeasePlace(MONGODB, _address(url), lambda through: f"mongodb://{through}/?{query}")


def on_kubernetes(server: KubernetesServer, folder: Path) -> LeasePlace:
    name, namespace = fresh_name(), server.create_namespace()
    config = server.admin.kubeconfig.read_text()

    def url(through: str) -> str:
        kubeconfig = folder / f"{through.replace(':', '-')}.kubeconfig"
        kubeconfig.write_text(config.replace(server.url, f"https://{through}"))
        return f"kubernetes://{namespace}?name={name}&kubeconfig={kubeconfig}"

    return LeasePlace(KUBERNETES, _address(server.url), url)


def fresh_name() -> str:
    """A fleet that nobody has ever heard of."""
    return f"drill-{secrets.token_hex(6)}"


def _address(url: str) -> Address:
    parts = urlsplit(url)
    assert parts.hostname is not None, url
    assert parts.port is not None, url
    return parts.hostname, parts.port
