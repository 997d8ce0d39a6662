"""TLS: a certificate and its key, looked at before anything runs."""

from __future__ import annotations

import ssl
from typing import NoReturn

from fencepost.errors import InvalidSettings
from fencepost.model.dataclasses import dataclass


@dataclass(frozen=True)
class Tls:
    """The files of a certificate, with those that signed it, and of its key."""

    certificate: str
    key: str

    def context(self) -> ssl.SSLContext:
        """What a handshake is done with."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.certificate, self.key, _no_password)
        return made


def checked_tls(certificate: str | None, key: str | None) -> Tls | None:
    """Both files, which belong together and can be read; None where neither is named."""
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise InvalidSettings("TLS: give both --tls-cert and --tls-key")
    try:
        named = Tls(certificate, key)
        named.context()
    except ssl.SSLError as error:
        why = error.reason or "not in PEM"
        raise InvalidSettings(f"TLS: {certificate} and {key} cannot be used together: {why}") from None
    except OSError as error:
        raise InvalidSettings(f"TLS: {certificate} or {key}: {error.strerror or error}") from None
    return named


def _no_password() -> NoReturn:
    """A server has no terminal at which to ask."""
    raise InvalidSettings("TLS: the key has a password; a server needs one without")
