"""`fencepost token`: who may come in over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import click

from fencepost.cli.calling import call
from fencepost.cli.commands import command, listing
from fencepost.cli.nouns import token
from fencepost.cli.options import Place, changes_store, json_option
from fencepost.cli.output import print_json, print_table, shown_moment
from fencepost.cli.requests import takes
from fencepost.errors import UsageError
from fencepost.operations.access import (
    OpenLinkRequest,
    create_token,
    list_tokens,
    open_link,
    revoke_token,
    rotate_token,
)
from fencepost.operations.responses.access import MadeToken, TokenResponse

HEADINGS = ("id", "name", "role", "namespace", "state", "last used", "expires")

LASTS = {"lasts_s": "--expires"}


@listing(
    list_tokens,
    token,
    "fencepost token list",
    "fencepost token list --namespace billing --json",
    none="there are no tokens; make one: fencepost token create NAME --role ROLE",
    zoned=True,
)
def _listed(found: Sequence[TokenResponse], tz: str | None) -> None:
    print_table(HEADINGS, [_row(one, tz) for one in found])


def _print_made(made: MadeToken) -> None:
    click.echo(made.token)
    click.echo(f"{made.token_id}: {made.name}, {made.role} in {made.namespace}", err=True)
    click.echo("it is not shown again: keep it where secrets are kept", err=True)


command(
    create_token,
    token,
    "fencepost token create ci --role operator --expires 90d",
    "fencepost token create grafana --role viewer --namespace '*'",
    "fencepost token create resizer --role worker",
    arguments=("name",),
    names=LASTS,
)(_print_made)
command(rotate_token, token, "fencepost token rotate t3f9c2a1b8d7e6f50 --overlap 1h")(_print_made)


@command(revoke_token, token, 'fencepost token revoke t3f9c2a1b8d7e6f50 --reason "left on a train"')
def _revoked(found: TokenResponse) -> str:
    return f"revoked: {found.token_id} ({found.name})"


@token.command("link")
@takes(OpenLinkRequest, names=LASTS)
@click.option("--url", metavar="URL", required=True, help="Where the dashboard is: http://127.0.0.1:8580.")
@changes_store
@json_option
def link(request: OpenLinkRequest, url: str, place: Place, as_json: bool) -> None:
    """Make a link that signs one browser in, once, and print it.

    \b
    Example:
      fencepost token link --url http://127.0.0.1:8580
      fencepost token link --role viewer --expires 1h --url https://cron.example.org
    """
    base = _base(url)
    made = call(place, open_link, request)
    address = f"{base}/sign-in?link={made.link}"
    if as_json:
        print_json({"link": address, "expires_at": made.expires_at})
    else:
        click.echo(address)


def _base(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"--url {url}: expected an address such as http://127.0.0.1:8580")
    return url.rstrip("/")


def _row(found: TokenResponse, tz: str | None) -> tuple[object, ...]:
    about = found.token_id, found.name, found.role, found.namespace, found.state
    return *about, shown_moment(found.last_used_at, tz), shown_moment(found.expires_at, tz)
