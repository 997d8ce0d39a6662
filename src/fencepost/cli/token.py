"""`fencepost token`: who may come in over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_json, print_table, shown_moment
from fencepost.cli.reading import read_duration

if TYPE_CHECKING:
    from fencepost.operations.shapes.access import MadeToken, TokenShape

ROLES_OF_PEOPLE = ("viewer", "operator", "admin")
ROLES = ("worker", *ROLES_OF_PEOPLE)
EVERYWHERE = "*"
LIST_MAX = 1_000
HEADINGS = ("id", "name", "role", "namespace", "state", "last used", "expires")

id_argument = click.argument("token_id", metavar="ID")


@click.group(cls=CommandGroup)
def token() -> None:
    """Make, list, rotate and revoke tokens, and make sign-in links.

    A token is shown once, when it is made; the store keeps only a digest of it. --namespace '*' makes one
    that is good in all namespaces.

    \b
    Example:
      fencepost token create ci --role operator --expires 90d
      fencepost token list
    """


@token.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option(
    "--expires", metavar="SPAN", help="For how long it is good, such as 90d; for good unless given."
)
@changes_store
@json_option
def create(name: str, role: str, expires: str | None, place: Place, as_json: bool) -> None:
    """Make a token and print it. It cannot be shown again.

    \b
    Example:
      fencepost token create ci --role operator --expires 90d
      fencepost token create grafana --role viewer --namespace '*'
      fencepost token create resizer --role worker
    """
    lasts_s = None if expires is None else read_duration("--expires", expires).total_seconds()
    from fencepost.cli.calling import call
    from fencepost.model.access import Role
    from fencepost.operations.access import CreateToken, create_token

    acting, namespace = _parted(place)
    asked = CreateToken(name=name, role=Role(role), namespace=namespace, lasts_s=lasts_s)
    _print_token(call(acting, create_token, asked), as_json)


@token.command("list")
@asks
@tz_option
@json_option
def list_tokens(place: Place, tz: str | None, as_json: bool) -> None:
    """List tokens, newest first; never what they are, only their ids.

    \b
    Example:
      fencepost token list
      fencepost token list --namespace billing --json
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.access import ListTokens
    from fencepost.operations.access import list_tokens as listed

    acting, namespace = _parted(place)
    found = pages(acting, listed, ListTokens(namespace=namespace), LIST_MAX)
    if as_json:
        print_json(found)
    elif not found:
        click.echo("there are no tokens; make one: fencepost token create NAME --role ROLE", err=True)
    else:
        print_table(HEADINGS, [_row(one, tz) for one in found])


@token.command()
@id_argument
@click.option(
    "--overlap", metavar="SPAN", help="For how long the old one stays good, such as 1h; not at all."
)
@changes_store
@json_option
def rotate(token_id: str, overlap: str | None, place: Place, as_json: bool) -> None:
    """Put a new token in the place of one, with the same name, role and namespace, and print it.

    \b
    Example:
      fencepost token rotate t3f9c2a1b8d7e6f50 --overlap 1h
    """
    overlap_s = 0.0 if overlap is None else read_duration("--overlap", overlap).total_seconds()
    from fencepost.cli.calling import call
    from fencepost.operations.access import RotateToken, rotate_token

    _print_token(call(place, rotate_token, RotateToken(token_id=token_id, overlap_s=overlap_s)), as_json)


@token.command()
@id_argument
@changes_store
@json_option
def revoke(token_id: str, place: Place, as_json: bool) -> None:
    """End a token. Whoever signed in with it is signed out, and open streams end within seconds.

    \b
    Example:
      fencepost token revoke t3f9c2a1b8d7e6f50 --reason "left on a train"
    """
    from fencepost.cli.calling import call
    from fencepost.operations.access import OneToken, revoke_token

    found = call(place, revoke_token, OneToken(token_id=token_id))
    if as_json:
        print_json(found)
    else:
        click.echo(f"revoked: {found.token_id} ({found.name})")


@token.command()
@click.option(
    "--role", type=click.Choice(ROLES_OF_PEOPLE), default="admin", show_default=True, help="What it may do."
)
@click.option("--expires", metavar="SPAN", default="10m", show_default=True, help="How long it can be used.")
@click.option("--url", metavar="URL", required=True, help="Where the dashboard is: http://127.0.0.1:8580.")
@changes_store
@json_option
def link(role: str, expires: str, url: str, place: Place, as_json: bool) -> None:
    """Make a link that signs one browser in, once, and print it.

    \b
    Example:
      fencepost token link --url http://127.0.0.1:8580
      fencepost token link --role viewer --expires 1h --url https://cron.example.org
    """
    from fencepost.cli.calling import call
    from fencepost.model.access import Role
    from fencepost.operations.access import OpenLink, open_link

    lasts_s = read_duration("--expires", expires).total_seconds()
    acting, namespace = _parted(place)
    base = _base(url)
    made = call(acting, open_link, OpenLink(role=Role(role), namespace=namespace, lasts_s=lasts_s))
    address = f"{base}/sign-in?link={made.link}"
    if as_json:
        print_json({"link": address, "expires_at": made.expires_at})
    else:
        click.echo(address)


def _parted(place: Place) -> tuple[Place, str | None]:
    """Where to act, and for which namespace: nobody acts in `*`."""
    acts = None if place.namespace == EVERYWHERE else place.namespace
    return replace(place, namespace=acts), place.namespace


def _base(url: str) -> str:
    from urllib.parse import urlsplit

    from fencepost.errors import UsageError

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"--url {url}: expected an address such as http://127.0.0.1:8580")
    return url.rstrip("/")


def _print_token(made: MadeToken, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    click.echo(made.token)
    click.echo(f"{made.token_id}: {made.name}, {made.role} in {made.namespace}", err=True)
    click.echo("it is not shown again: keep it where secrets are kept", err=True)


def _row(found: TokenShape, tz: str | None) -> tuple[object, ...]:
    about = found.token_id, found.name, found.role, found.namespace, found.state
    return *about, shown_moment(found.last_used_at, tz), shown_moment(found.expires_at, tz)
