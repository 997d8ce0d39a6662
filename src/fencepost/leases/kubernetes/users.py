"""The users of a kubeconfig: each way in which one can say who they are."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from fencepost.clock import Clock
from fencepost.errors import InvalidSettings
from fencepost.leases.kubernetes.credentials import Certificate, Identity
from fencepost.leases.kubernetes.plugin import plugin_of
from fencepost.model.dataclasses import dataclass

REREAD_AFTER = timedelta(seconds=60)
"""A mounted token is replaced long before its end; it is looked for this often."""
REFUSED = {
    "auth-provider": "use an exec plugin instead",
    "as": "impersonation is not supported; use credentials of the account itself",
}


@dataclass(frozen=True)
class Entry:
    """A part of a kubeconfig, and the folder that its relative paths start from."""

    fields: Mapping[str, Any]
    folder: Path

    def text(self, key: str) -> str | None:
        """A text that is there and not empty."""
        value = self.fields.get(key)
        return str(value) if value else None

    def path(self, key: str) -> Path | None:
        value = self.text(key)
        return self.folder / value if value else None

    def data(self, key: str) -> bytes | None:
        """The bytes behind a base64 text."""
        value = self.text(key)
        try:
            return b64decode(value, validate=True) if value else None
        except binascii.Error:
            raise InvalidSettings(f"{key} is not base64") from None


async def identity_of(user: Entry, cluster: Mapping[str, Any], clock: Clock) -> Identity:
    """Who the user is now. Reads files, and runs the plugin where that is the way."""
    for key, remedy in REFUSED.items():
        if user.fields.get(key):
            raise InvalidSettings(f"{key}: {remedy}")
    plugin = user.fields.get("exec")
    identity = await asyncio.to_thread(_plain_identity, user, clock)
    if identity.authorization is None and isinstance(plugin, Mapping):
        found = await plugin_of(plugin, user.folder, cluster).run()
        identity = replace(found, certificate=found.certificate or identity.certificate)
    return identity


def identity_in(token_file: Path, clock: Clock) -> Identity:
    """The bearer of the token that is in the file now."""
    token = read(token_file).decode(errors="replace").strip()
    if not token.isascii() or not token.isprintable() or not token:
        raise InvalidSettings(f"{token_file} holds no token")
    return Identity(f"Bearer {token}", stale_at=clock.wall() + REREAD_AFTER)


def read(path: Path) -> bytes:
    """The content of a file that the settings name."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidSettings(f"{path} cannot be read: {error.strerror}") from None


def _plain_identity(user: Entry, clock: Clock) -> Identity:
    """Of a token that is in a file and one that is written out, the file's is the newer one."""
    certificate = _certificate(user)
    if token_file := user.path("tokenFile"):
        return replace(identity_in(token_file, clock), certificate=certificate)
    if token := user.text("token"):
        return Identity(f"Bearer {token}", certificate)
    return Identity(None, certificate)


def _certificate(user: Entry) -> Certificate | None:
    chain = _file_or_data(user, "client-certificate")
    key = _file_or_data(user, "client-key")
    if (chain is None) != (key is None):
        raise InvalidSettings("client-certificate and client-key belong together, and one is missing")
    return Certificate(chain, key) if chain is not None and key is not None else None


def _file_or_data(user: Entry, key: str) -> bytes | None:
    data = user.data(f"{key}-data")
    if data is not None:
        return data
    path = user.path(key)
    return read(path) if path else None
