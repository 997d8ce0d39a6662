"""`fencepost whoami`: what a token is good for."""

from __future__ import annotations

import click

from fencepost.cli.options import Place, asks, json_option
from fencepost.cli.output import print_fields, print_json


@click.command()
@asks
@json_option
def whoami(place: Place, as_json: bool) -> None:
    """Show as whom a server knows you, and what you may do there.

    Without --server it is who you are at the store itself, where you may do anything.

    \b
    Example:
      fencepost whoami --server https://cron.example.org
    """
    from fencepost.cli.calling import call
    from fencepost.operations.access import AskWhoAmI, show_whoami

    found = call(place, show_whoami, AskWhoAmI())
    if as_json:
        print_json(found)
        return
    print_fields(
        [
            ("name", found.name),
            ("role", found.role),
            ("namespace", "all" if found.namespace == "*" else found.namespace),
            ("came by", found.came or "the store itself"),
            ("credential", found.credential_id),
        ]
    )
