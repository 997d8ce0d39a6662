"""`fencepost web`: the API and the worker protocol over HTTP, and `--bind` for whoever serves it beside other
work."""

from __future__ import annotations

import asyncio
import functools
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

import click

from fencepost.app import Fencepost
from fencepost.cli.leases import leases_elsewhere
from fencepost.cli.options import Command, Place, in_store, logged
from fencepost.cli.serving import Stopper, serve
from fencepost.cli.target import load_target
from fencepost.cli.waiting import until_reachable, wait_option
from fencepost.errors import InvalidSettings
from fencepost.model.dataclasses import dataclass
from fencepost.telemetry.logs import Log
from fencepost.web.binding import DEFAULT_BIND, bound, is_loopback
from fencepost.wiring import open_store, require_oidc, require_web

if TYPE_CHECKING:
    from fencepost.web.server import WebThread
    from fencepost.web.tls import Tls

bind_option = click.option(
    "--bind",
    metavar="HOST:PORT",
    help="Serve the web here too.",
)


@dataclass(frozen=True)
class TlsFiles:
    """The files that a command was pointed at."""

    certificate: str | None = None
    key: str | None = None

    def checked(self) -> Tls | None:
        """What the server is given; None for no TLS."""
        from fencepost.web.tls import checked_tls

        return checked_tls(self.certificate, self.key)


NO_TLS = TlsFiles()
PROVIDER_OPTIONS = ("oidc_issuer", "oidc_client_id", "oidc_client_secret", "oidc_roles")


def takes_tls(command: Command) -> Command:
    """Give a command `--tls-cert` and `--tls-key`, handed over as one `tls`."""

    @click.option(
        "--tls-cert", metavar="FILE", envvar="FENCEPOST_TLS_CERT", help="Serve TLS with this, in PEM."
    )
    @click.option(
        "--tls-key", metavar="FILE", envvar="FENCEPOST_TLS_KEY", help="The certificate's key, in PEM."
    )
    @functools.wraps(command)
    def with_tls(*args: Any, tls_cert: str | None, tls_key: str | None, **options: Any) -> Any:
        return command(*args, tls=TlsFiles(tls_cert, tls_key), **options)

    return with_tls


def takes_provider(command: Command) -> Command:
    """Give a command the settings of a sign-in provider as options, handed over as one `provider`."""

    @click.option("--oidc-issuer", metavar="URL", help="Let people sign in at this OpenID provider.")
    @click.option("--oidc-client-id", metavar="ID", help="What the provider calls this server.")
    @click.option(
        "--oidc-client-secret", metavar="WHERE", help="Where its secret is: env:NAME or file:/path."
    )
    @click.option(
        "--oidc-role",
        "oidc_roles",
        metavar="VALUE=ROLE",
        multiple=True,
        help="Who has which role, by the claim oidc_claim; VALUE=ROLE@NAMESPACE for one namespace.",
    )
    @functools.wraps(command)
    def with_provider(*args: Any, **options: Any) -> Any:
        taken = {name: options.pop(name) or None for name in PROVIDER_OPTIONS}
        return command(*args, provider=taken, **options)

    return with_provider


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--bind", metavar="HOST:PORT", default=DEFAULT_BIND, show_default=True, help="Where to listen.")
@click.option("--docs", metavar="DIR", help="Show the documentation that was built there under /docs.")
@takes_tls
@takes_provider
@wait_option
@in_store
@logged
@click.pass_context
def web(
    context: click.Context,
    target: str,
    bind: str,
    docs: str | None,
    tls: TlsFiles,
    provider: dict[str, Any],
    wait: bool,
    place: Place,
) -> None:
    """Serve the dashboard, the API, and workers in other languages over HTTP.

    The document of the API is at /api/v1/openapi.json. Nobody comes in without a credential: a token of the
    store (fencepost token create), or the one that FENCEPOST_TOKEN holds, at least 32 characters, which is an
    admin of everything. Only this host can reach the server unless --bind says otherwise; then give it TLS,
    or put a proxy before it. With --oidc-issuer people can sign in at a provider too.

    \b
    Example:
      fencepost web shop:app --bind 127.0.0.1:8580
      fencepost web shop:app --bind 0.0.0.0:8580 --tls-cert cron.pem --tls-key cron.key
      fencepost web shop:app --docs build/site
      export FENCEPOST_TOKEN="$(openssl rand -hex 32)"
    """
    app = load_target(target)
    app.configure(store=place.store, namespace=place.namespace, docs=docs, **provider)
    listener = open_door(app, bind, tls)

    async def work(stopper: Stopper) -> None:
        await until_reachable(app.open, wait)
        async with app:
            node = await until_reachable(partial(app.node, plans=False, works=False), wait)
            node.also(web_beside(app, listener, stopper.stop, tls))
            await stopper.run(node)

    with listener:
        context.exit(serve(app, work))


def open_door(app: Fencepost, bind: str, tls: TlsFiles = NO_TLS) -> socket:
    """The socket of the web; what cannot be served is refused here, before anything begins."""
    require_web()
    from fencepost.web.auth import checked_token

    check_docs(app.settings.docs)
    if app.settings.token:
        checked_token(app.settings.token)
    require_oidc(app.settings)
    secured = tls.checked() is not None
    listener = bound(bind)
    if not secured and not is_loopback(listener):
        told = (
            "other hosts can reach this, without TLS: give --tls-cert and --tls-key, or put a proxy before it"
        )
        Log("web").warning(told, bind=bind)
    return listener


def check_docs(folder: str) -> None:
    """Refuse a folder that has no documentation in it."""
    if folder and not Path(folder, "index.html").is_file():
        raise InvalidSettings(
            f"docs {folder!r}: has no index.html; build it with make docs, and name build/site"
        )


def web_beside(app: Fencepost, door: socket | str, stop: asyncio.Event, tls: TlsFiles = NO_TLS) -> WebThread:
    """A server of the application's store, to be run beside the services of a node."""
    from fencepost.web.server import WebThread

    listener = open_door(app, door, tls) if isinstance(door, str) else door
    settings = app.settings
    leases = functools.partial(leases_elsewhere, settings)
    return WebThread(functools.partial(open_store, settings), settings, listener, stop, leases, tls.checked())
