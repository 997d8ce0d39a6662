"""What the driver's exceptions and the API server's refusals mean to the rest of Fencepost.

A fault that leaves the outcome open, or is temporary, is `LeaseStoreUnavailable`. So are `Denied` and
`Distrusted` while nodes work: rights come back, certificates are renewed. When the leases are opened they are
mistakes in the settings.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp

from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.kubernetes.address import Place
from fencepost.model.faults import brief

RIGHTS = "get, list, watch, create, update"

UNKNOWN = (aiohttp.ClientError, OSError, TimeoutError, ValueError)
DISTRUST = (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError, ssl.SSLError)


class Denied(LeaseStoreUnavailable):
    """401 or 403: the credentials are not known, or lack the right."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the API server refuses: {message}")
        self.status = status


class Distrusted(LeaseStoreUnavailable):
    """The server's certificate is not one that we trust, or ours is not one that it trusts."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's faults into ours."""
    try:
        yield
    except DISTRUST as error:
        raise Distrusted(f"no TLS with the API server: {brief(error)}") from error
    except UNKNOWN as error:
        raise LeaseStoreUnavailable(f"the API server did not answer: {brief(error)}") from error
    except InvalidSettings as error:
        raise LeaseStoreUnavailable(str(error)) from error


@contextmanager
def translated_at_open(place: Place, namespace: str) -> Iterator[None]:
    """Turn the faults of the first requests into one line that says the fix."""
    try:
        yield
    except Denied as error:
        raise place.refuse(f"{error}; {_remedy(error.status, namespace)}") from error
    except Distrusted as error:
        raise place.refuse(
            f"{error}; check the certificate authority, the client certificate and the server's name"
        ) from error
    except LeaseStoreUnavailable as error:
        raise LeaseStoreUnavailable(
            f"leases {place.shown}: {error}; is the API server running, and is this its address?"
        ) from error


def _remedy(status: int, namespace: str) -> str:
    if status == 401:
        return "correct the token, the certificate or the plugin of this user"
    return (
        f"grant {RIGHTS} on leases.coordination.k8s.io in the namespace {namespace}, "
        "as examples/kubernetes/leases-rbac.yaml does"
    )
