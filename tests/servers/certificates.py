"""Certificates for one run of the tests, from an authority that nobody else trusts."""

import ssl
from pathlib import Path

import trustme

HOSTS = ("127.0.0.1", "localhost")


class Certificates:
    """A server's certificate and key, and the authority that vouches for it, as files."""

    def __init__(self, folder: Path) -> None:
        self.authority_file = folder / "authority.pem"
        self.certificate_file = folder / "certificate.pem"
        self.key_file = folder / "key.pem"
        authority = trustme.CA()
        issued = authority.issue_cert(*HOSTS)
        authority.cert_pem.write_to_path(str(self.authority_file))
        issued.private_key_pem.write_to_path(str(self.key_file))
        for number, pem in enumerate(issued.cert_chain_pems):
            pem.write_to_path(str(self.certificate_file), append=number > 0)

    def context(self) -> ssl.SSLContext:
        """What a client needs that trusts this authority only."""
        return ssl.create_default_context(cafile=str(self.authority_file))
