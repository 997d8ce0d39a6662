"""The way in from a pod: what the kubelet puts into every container."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from fencepost.clock import Clock
from fencepost.leases.kubernetes.credentials import Credentials, Identity
from fencepost.leases.kubernetes.kubeconfig import Access
from fencepost.leases.kubernetes.tls import Trust
from fencepost.leases.kubernetes.users import identity_in, read

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(environment: Mapping[str, str]) -> bool:
    """Whether this process runs in a pod that may talk to the API server."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST")) and (SERVICE_ACCOUNT / "token").exists()


def access_in_cluster(environment: Mapping[str, str], clock: Clock) -> Access:
    """As the pod's service account. The token is read again as it rotates."""
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT") or "443"
    token_file = SERVICE_ACCOUNT / "token"

    async def load() -> Identity:
        return await asyncio.to_thread(identity_in, token_file, clock)

    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        trust=Trust(authority_file=SERVICE_ACCOUNT / "ca.crt"),
        namespace=read(SERVICE_ACCOUNT / "namespace").decode().strip(),
        credentials=Credentials(load, clock),
    )
