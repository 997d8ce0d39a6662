"""What a `kubernetes://` URL says: whose leases, in which namespace, and by which kubeconfig."""

from __future__ import annotations

import re
from pathlib import Path

from fencepost.errors import InvalidSettings
from fencepost.model.address import Address, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

LABEL_LENGTH_MAX = 63
FORM = "kubernetes://NAMESPACE?name=fencepost&kubeconfig=/path&context=NAME"

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class Place:
    """Where the leases of one fleet are. A namespace of None is whichever the credentials come with."""

    namespace: str | None
    name: str
    kubeconfig: Path | None
    context: str | None
    shown: str

    def refuse(self, complaint: str) -> InvalidSettings:
        """An error about this place, for the caller to raise."""
        return InvalidSettings(f"leases {quoted(self.shown)}: {complaint}")


def parse_place(url: str) -> Place:
    """The place, or a refusal that says what a URL may be."""
    address = parse_address(url, 0)
    address.only("name", "kubeconfig", "context")
    kubeconfig = address.parameters.get("kubeconfig")
    if kubeconfig == "":
        raise address.refuse("kubeconfig names no file")
    return Place(
        namespace=_namespace(address),
        name=_label(address, "name", address.parameters.get("name", "fencepost")),
        kubeconfig=Path(kubeconfig).expanduser() if kubeconfig else None,
        context=address.parameters.get("context") or None,
        shown=address.shown,
    )


def _namespace(address: Address) -> str | None:
    """Nothing but a namespace may stand where other URLs have a server."""
    odd = address.user or address.password or address.path
    if odd or len(address.hosts) > 1 or any(host.port for host in address.hosts):
        raise address.refuse(f"expected {FORM}; the server and the user are those of the kubeconfig")
    if not address.hosts:
        return None
    return _label(address, "namespace", address.hosts[0].name)


def _label(address: Address, what: str, text: str) -> str:
    if len(text) <= LABEL_LENGTH_MAX and _LABEL.fullmatch(text):
        return text
    raise address.refuse(
        f"{what} {quoted(text)}: expected 1 to {LABEL_LENGTH_MAX} small letters, digits or -, "
        "with a letter or digit at both ends"
    )
