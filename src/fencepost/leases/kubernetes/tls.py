"""Whom to trust as the API server, and how to show a client's certificate."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from fencepost.errors import InvalidSettings
from fencepost.leases.kubernetes.credentials import Certificate
from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class Trust:
    """The authority as a file or as PEM, the system's where neither is given."""

    authority_file: Path | None = None
    authority: str | None = None
    server_name: str | None = None
    is_blind: bool = False


def context_of(trust: Trust, certificate: Certificate | None) -> ssl.SSLContext:
    """What a connection needs. Reads files."""
    try:
        context = ssl.create_default_context(
            cafile=str(trust.authority_file) if trust.authority_file else None, cadata=trust.authority
        )
    except (OSError, ValueError) as error:
        where = trust.authority_file or "certificate-authority-data"
        raise InvalidSettings(f"the certificate authority in {where} cannot be used: {error}") from None
    if trust.is_blind:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _show(certificate, context)
    return context


def _show(certificate: Certificate, context: ssl.SSLContext) -> None:
    """The library reads only files: for a moment there are some, which only this user can read."""
    with TemporaryDirectory(prefix="fencepost-") as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        try:
            context.load_cert_chain(chain, key, password=_no_password)
        except (ssl.SSLError, ValueError):
            raise InvalidSettings(
                "the client certificate and its key cannot be used; check that they are PEM, belong together "
                "and have no passphrase"
            ) from None


def _no_password() -> str:
    """Else the library would ask at the terminal, and wait."""
    return ""
