"""The parts of the URL: where the leases or the whole store are, and the parameters of the driver.

`name` is ours. Every other parameter goes to the driver, which knows them all and refuses the rest by name.
Those that would weaken the promise are refused here, and the time limits are overruled: no call waits longer
than ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pymongo.errors import PyMongoError
from pymongo.uri_parser import split_options

from fencepost.errors import InvalidSettings
from fencepost.model.address import Address, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

SCHEMES = ("mongodb", "mongodb+srv")
PORT = 27017
NAME_DEFAULT = "fencepost"
DATABASE_DEFAULT = "fencepost"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_DATABASE = re.compile(r"[^/\\. \"$*<>:|?\0]{1,63}")

PROMISED: Mapping[str, tuple[object, ...]] = {
    "w": ("majority",),
    "journal": (True,),
    "j": (True,),
    "readPreference": ("primary",),
    "readConcernLevel": ("majority", "linearizable"),
}
"""Parameters on which the promise hangs, and what they may be."""


@dataclass(frozen=True)
class Target:
    """A database, and the collection of its leases. `url` holds the password; `address` is for people."""

    address: Address
    url: str
    database: str
    collection: str


def read_url(url: str, what: str = "leases") -> Target:
    """The parts of the URL, or a refusal that shows no password."""
    parts = _split(url, what)
    address = parse_address(f"{parts.scheme}://{parts.netloc}{parts.path}", PORT, what)
    if address.scheme not in SCHEMES:
        raise address.refuse("expected mongodb:// or mongodb+srv://")
    if not address.hosts:
        raise address.refuse("names no host; expected mongodb://HOST:27017/DATABASE?replicaSet=NAME")
    query = "&".join(field for field in parts.query.split("&") if not _is_name(field))
    _check_options(address, query)
    return Target(
        address=address,
        url=parts._replace(query=query, path=parts.path or "/").geturl(),
        database=_database(address),
        collection=f"{_name(address, parts.query)}_leases",
    )


def _split(url: str, what: str) -> SplitResult:
    """The parts of the URL. An @ elsewhere than before the hosts belongs to a password, or to nothing."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidSettings(f"{what}: the URL cannot be read: {error}") from None
    if "@" in parts.path + parts.query + parts.fragment or parts.netloc.count("@") > 1:
        raise InvalidSettings(
            f"{what} {quoted(f'{parts.scheme}://…')}: an @ in the wrong place; "
            "write / : @ ? # and % in a user, password or parameter as %2F %3A %40 %3F %23 and %25"
        )
    return parts


def _check_options(address: Address, query: str) -> None:
    for name, allowed in PROMISED.items():
        value = _options(address, query).get(name, allowed[0])
        if value not in allowed:
            shown = " or ".join(str(one).lower() for one in allowed)
            raise address.refuse(
                f"{name}={str(value).lower()} would weaken the {address.what}; leave it out (it is {shown})"
            )


def _options(address: Address, query: str) -> Mapping[str, Any]:
    """The driver's parameters as it reads them; without regard to upper and lower case."""
    try:
        return split_options(query, validate=True, warn=False, normalize=False) if query else {}
    except (PyMongoError, ValueError, TypeError) as error:
        raise address.refuse(f"{error}") from None


def _is_name(field: str) -> bool:
    return field.partition("=")[0] == "name"


def _name(address: Address, query: str) -> str:
    name = dict(parse_qsl(query, keep_blank_values=True)).get("name", NAME_DEFAULT)
    if not _NAME.fullmatch(name):
        raise address.refuse(
            f"name {quoted(name)}: expected 1 to 100 letters, digits, _ or -, beginning with no -"
        )
    return name


def _database(address: Address) -> str:
    if not address.path:
        return DATABASE_DEFAULT
    if not _DATABASE.fullmatch(address.path):
        raise address.refuse(f"database {quoted(address.path)}: expected the name of one database")
    return address.path
