"""`fencepost demo`: everything in one process, to look at."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from socket import socket
from tempfile import mkdtemp

import click

from fencepost.app import Fencepost
from fencepost.cli.output import print_table
from fencepost.cli.reading import read_duration
from fencepost.cli.serving import Stopper, serve
from fencepost.cli.web import open_door, web_beside
from fencepost.demo import NIGHTLY, Watcher, account, build, write_history
from fencepost.errors import InvalidSettings
from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import ScheduleId
from fencepost.model.run import RunRecord
from fencepost.operations import credentials
from fencepost.operations.control import Control
from fencepost.operations.credentials import LINK_LASTS_MAX_S
from fencepost.operations.responses.triggers import changes_ahead, described
from fencepost.ports.store import Store
from fencepost.services.node import NodeRunner
from fencepost.telemetry.logs import set_up_logging
from fencepost.triggers import stored_trigger
from fencepost.web.binding import DEFAULT_BIND
from fencepost.wiring import shown_store

COLOURS = {"succeeded": "green", "skipped": "cyan", "missed": "yellow", "ready": "yellow", "dead": "red"}
HEADINGS = f"{'TIME':12}  {'RUN':44}  {'STATE':9}  {'ATTEMPT':>7}  {'FENCE':>6}  {'LATENESS':>9}"


@click.command()
@click.option("--store", metavar="URL", help="Keep the ledger here, or go on with the one that is here.")
@click.option(
    "--bind", metavar="HOST:PORT", help=f"Serve the dashboard here; {DEFAULT_BIND} unless that is taken."
)
@click.option("--empty", is_flag=True, help="Begin with an empty ledger, without the last three days.")
@click.option("--for", "for_", metavar="DURATION", help="Stop after so long; without it, with Ctrl-C.")
@click.pass_context
def demo(context: click.Context, store: str | None, bind: str | None, empty: bool, for_: str | None) -> None:
    """Run a small shop in one process, with its dashboard, and show every tick.

    Without --store the ledger is a SQLite file in a new temporary folder, with three days of history in it.
    The link that it prints signs one browser in, once.

    \b
    Example:
      fencepost demo --for 30s
      fencepost demo --bind 127.0.0.1:9000
    """
    set_up_logging("error")
    for_s = None if for_ is None else read_duration("--for", for_).total_seconds()
    app = build(store or _temporary_store())
    listener = _door(app, bind)

    async def work(stopper: Stopper) -> None:
        if not empty:
            await write_history(app)
        await _show(app, stopper, for_s, listener)

    context.exit(serve(app, work))


async def _show(app: Fencepost, stopper: Stopper, for_s: float | None, listener: socket) -> None:
    async with app:
        store = await app.open()
        watcher = Watcher(store, app.settings.namespace, await store.now(), _print_tick)
        node = await app.node()
        web = web_beside(app, listener, stopper.stop)
        node.also(watcher)
        node.also(web)
        _print_header(app, web.address, await _sign_in_link(app, web.address))
        _print_schedules(app, await store.now())
        click.echo(f"\n{HEADINGS}")
        stopped_at = await _until_stopped(stopper, node, for_s, store)
        await watcher.run_once()
        click.echo(str(await account(store, app.settings.namespace, stopped_at)))


async def _until_stopped(stopper: Stopper, node: NodeRunner, for_s: float | None, store: Store) -> StoreTime:
    """Run the node; the store's time when it was asked to stop."""
    running = asyncio.create_task(stopper.run(node, for_s))
    asked = asyncio.create_task(stopper.stop.wait())
    await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    stopped_at = await store.now()
    if not running.done():
        click.echo("stopping: what runs may finish; Ctrl-C again waits for nothing")
    await running
    return stopped_at


def _door(app: Fencepost, bind: str | None) -> socket:
    """Where the dashboard is: at its own place, or at any other where that is taken."""
    if bind is not None:
        return open_door(app, bind)
    try:
        return open_door(app, DEFAULT_BIND)
    except InvalidSettings:
        return open_door(app, "127.0.0.1:0")


async def _sign_in_link(app: Fencepost, address: str) -> str:
    """Good for one browser, for a day; printed here and nowhere else."""
    control = Control(await app.open(), app.settings.namespace, Author("you", "the demo"))
    made = await credentials.open_link(control, lasts_s=LINK_LASTS_MAX_S)
    return f"{address}/sign-in?link={made.credential.reveal()}"


def _temporary_store() -> str:
    return f"sqlite:///{Path(mkdtemp(prefix='fencepost-demo-'), 'demo.db')}"


def _print_header(app: Fencepost, address: str, link: str) -> None:
    url = shown_store(app.settings)
    click.echo(
        f"Fencepost demo: {len(app.code_schedules)} schedules in one process. Ctrl-C stops it cleanly.\n"
        f"  the dashboard     {address}\n"
        f"  sign in, once     {link}\n"
        f"  the ledger        {url}\n"
        f"  look at it        fencepost status --store {url}\n"
        f"                    fencepost runs list --store {url}\n"
        f"  pull the plug     kill -9 {os.getpid()}\n"
        f"  and start again   fencepost demo --store {url}\n"
        f"                    and look: nothing lost, nothing doubled\n"
    )


def _print_schedules(app: Fencepost, now: StoreTime) -> None:
    specs = app.code_schedules
    rows = [(name, described(spec, name), spec.spread) for name, spec in specs.items()]
    print_table(("SCHEDULE", "FIRES", "SPREAD OVER"), rows)
    for change in changes_ahead(stored_trigger(specs[ScheduleId(NIGHTLY)], NIGHTLY), now):
        click.echo(f"\n{NIGHTLY}: {change.sentence}")


def _print_tick(run: RunRecord) -> None:
    moment = (run.finished_at or run.run_at).astimezone().strftime("%H:%M:%S.%f")[:-3]
    late = "" if run.late_s is None else f"{run.late_s * 1_000:.0f} ms"
    state = click.style(f"{run.state:9}", fg=COLOURS.get(run.state))
    line = f"{moment:12}  {run.run_key:44}  {state}  {run.attempt:>7}  {run.fence:>6}  {late:>9}"
    why = run.error or run.reason
    click.echo(f"{line}  {why}" if why else line)
