"""`fencepost whoami`: what a token is good for."""

from __future__ import annotations

from fencepost.cli.commands import command
from fencepost.cli.output import print_fields
from fencepost.operations.access import show_whoami
from fencepost.operations.responses.access import WhoAmI


@command(show_whoami, None, "fencepost whoami --server https://cron.example.org", name="whoami")
def whoami(found: WhoAmI) -> None:
    """Who is asking."""
    print_fields(
        [
            ("name", found.name),
            ("role", found.role),
            ("namespace", "all" if found.namespace == "*" else found.namespace),
            ("came by", found.came or "the store itself"),
            ("credential", found.credential_id),
        ]
    )
