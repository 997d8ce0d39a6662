"""Kubeconfig files: where there are several, the first that has an entry counts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fencepost.clock import Clock
from fencepost.errors import InvalidSettings
from fencepost.leases.kubernetes.credentials import Credentials, Identity
from fencepost.leases.kubernetes.tls import Trust
from fencepost.leases.kubernetes.users import Entry, identity_of, read
from fencepost.model.dataclasses import dataclass

EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True)
class Access:
    """How to reach an API server: where it is, whom to trust, who we are, and where we belong."""

    server: str
    trust: Trust
    namespace: str
    credentials: Credentials


@dataclass(frozen=True)
class Kubeconfig:
    """The content of the files, with the folder of each."""

    parts: Sequence[Entry]

    def current_context(self) -> str:
        for part in self.parts:
            if name := part.text("current-context"):
                return name
        raise InvalidSettings("no current-context; add context=NAME to the URL")

    def entry(self, kind: str, name: str) -> Entry:
        """The entry of that name in a list such as `users`, whose items are `{name: …, user: {…}}`."""
        known: list[str] = []
        for part in self.parts:
            for item in _items(part, f"{kind}s"):
                if item.get("name") == name and isinstance(item.get(kind), Mapping):
                    return Entry(item[kind], part.folder)
                known.append(str(item.get("name")))
        raise InvalidSettings(f"no {kind} {name}; there are: {', '.join(known) or 'none'}")


def default_paths(environment: Mapping[str, str]) -> list[Path]:
    """What KUBECONFIG names, or the one in the home folder."""
    named = [Path(text) for text in environment.get("KUBECONFIG", "").split(os.pathsep) if text]
    return named or [Path("~/.kube/config").expanduser()]


def load_kubeconfig(paths: Sequence[Path]) -> Kubeconfig:
    """The files that are there. Of several, some may be missing; not all."""
    present = [path for path in paths if path.exists()] or list(paths[:1])
    return Kubeconfig([Entry(_mapping(path), path.absolute().parent) for path in present])


def access_by(paths: Sequence[Path], context: str | None, clock: Clock) -> Access:
    """What a context says. The user's part is read again whenever the credentials are."""
    config = load_kubeconfig(paths)
    chosen = config.entry("context", context or config.current_context())
    cluster = config.entry("cluster", chosen.text("cluster") or "")
    user = chosen.text("user")

    async def load() -> Identity:
        if user is None:
            return Identity()
        config = await asyncio.to_thread(load_kubeconfig, paths)
        return await identity_of(config.entry("user", user), cluster_info(cluster), clock)

    server = cluster.text("server") or ""
    if not server.startswith(("https://", "http://")):
        raise InvalidSettings(f"the cluster's server {server or 'is missing'}: expected https://HOST:PORT")
    if cluster.fields.get("proxy-url"):
        raise InvalidSettings("proxy-url is not supported; name a server that can be reached directly")
    namespace = chosen.text("namespace") or "default"
    return Access(server, trust_in(cluster), namespace, Credentials(load, clock))


def trust_in(cluster: Entry) -> Trust:
    authority = cluster.data("certificate-authority-data")
    return Trust(
        authority_file=None if authority else cluster.path("certificate-authority"),
        authority=authority.decode("ascii", errors="ignore") if authority else None,
        server_name=cluster.text("tls-server-name"),
        is_blind=bool(cluster.fields.get("insecure-skip-tls-verify")),
    )


def cluster_info(cluster: Entry) -> dict[str, Any]:
    """What a plugin may know of the cluster, if it asks to."""
    known = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data")
    info = {key: cluster.fields[key] for key in known if cluster.fields.get(key)}
    for item in _items(cluster, "extensions"):
        if item.get("name") == EXTENSION:
            info["config"] = item.get("extension")
    return info


def _items(entry: Entry, key: str) -> list[Mapping[str, Any]]:
    items = entry.fields.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise InvalidSettings(f"{key} is not a list of entries")
    return items


def _mapping(path: Path) -> Mapping[str, Any]:
    """A YAML error would quote the line, and the line may be a token."""
    try:
        content = yaml.safe_load(read(path))
    except (yaml.YAMLError, ValueError):
        raise InvalidSettings(f"{path} is not YAML") from None
    if not isinstance(content, Mapping):
        raise InvalidSettings(f"{path} is no kubeconfig")
    return content
