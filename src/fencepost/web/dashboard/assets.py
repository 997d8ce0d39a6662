"""The files of the dashboard, each under a name that holds a digest of what is in it.

A browser may keep such a file for ever: another content is another name. Nothing is built: the digest is
taken when the process starts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from fencepost.model.dataclasses import dataclass

PREFIX = "/static/"
KINDS = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
DIGEST_LENGTH = 12
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """One file, ready to be sent."""

    name: str
    content: bytes
    media_type: str
    etag: str

    @property
    def url(self) -> str:
        return PREFIX + self.name


@cache
def assets() -> Mapping[str, Asset]:
    """Every file by its own name, `fencepost.css`."""
    folder = files("fencepost.web.dashboard") / "static"
    found = sorted((one for one in folder.iterdir() if one.is_file()), key=lambda one: one.name)
    return {one.name: _asset(one.name, one.read_bytes()) for one in found if _kind(one.name) in KINDS}


@cache
def by_served_name() -> Mapping[str, Asset]:
    """Every file by the name it is served under, `fencepost.1f0c9a….css`."""
    return {one.name: one for one in assets().values()}


def asset_url(name: str) -> str:
    """Where a file is served."""
    return assets()[name].url


def _asset(name: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]
    stem, _, kind = name.rpartition(".")
    return Asset(f"{stem}.{digest}.{kind}", content, KINDS[kind], f'"{digest}"')


def _kind(name: str) -> str:
    return name.rpartition(".")[2]
