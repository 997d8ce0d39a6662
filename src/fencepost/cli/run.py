"""`fencepost run`, `scheduler` and `worker`: a process that serves an application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.options import Place, in_store, in_stores, logged

if TYPE_CHECKING:
    from fencepost.app import Fencepost
    from fencepost.cli.serving import Stopper

target_argument = click.argument("target", metavar="TARGET")
concurrency_option = click.option(
    "--concurrency", type=click.IntRange(min=1), help="How many runs at once; 20 unless given."
)
queues_option = click.option(
    "--queues", metavar="A,B", help="Which queues to work on; `default` unless given."
)


@click.command()
@target_argument
@concurrency_option
@queues_option
@in_stores
@logged
@click.pass_context
def run(
    context: click.Context, target: str, concurrency: int | None, queues: str | None, place: Place
) -> None:
    """Plan and work in one process.

    TARGET is module:app, with the module in the current folder, or a fencepost.toml. Ctrl-C stops cleanly;
    pressed again, it waits for nothing.

    \b
    Example:
      fencepost run shop:app --store postgresql://shop@db/fencepost
      fencepost run shop:app --leases etcd://etcd-1:2379,etcd-2:2379,etcd-3:2379
      fencepost run fencepost.toml
    """
    context.exit(_serve(target, place, True, True, concurrency=concurrency, queues=queues))


@click.command()
@target_argument
@in_stores
@logged
@click.pass_context
def scheduler(context: click.Context, target: str, place: Place) -> None:
    """Plan only: write due runs ahead of time.

    Leases say who plans what. All nodes that plan need the same --leases; workers need none.

    \b
    Example:
      fencepost scheduler shop:app --store postgresql://shop@db/fencepost
      fencepost scheduler shop:app --leases kubernetes://jobs
    """
    context.exit(_serve(target, place, True, False))


@click.command()
@target_argument
@concurrency_option
@queues_option
@in_store
@logged
@click.pass_context
def worker(
    context: click.Context, target: str, concurrency: int | None, queues: str | None, place: Place
) -> None:
    """Work only: claim due runs and do them.

    \b
    Example:
      fencepost worker shop:app --queues default,images --concurrency 50
    """
    context.exit(_serve(target, place, False, True, concurrency=concurrency, queues=queues))


def _serve(target: str, place: Place, plans: bool, works: bool, **overrides: Any) -> int:
    from fencepost.cli.serving import serve
    from fencepost.cli.target import load_target

    app = load_target(target)
    app.configure(store=place.store, leases=place.leases, namespace=place.namespace, **overrides)

    async def work(stopper: Stopper) -> None:
        async with app:
            node = await app.node(plans=plans, works=works)
            _announce(target, app, plans, works)
            await stopper.run(node)

    return serve(app, work)


def _announce(target: str, app: Fencepost, plans: bool, works: bool) -> None:
    from fencepost.cli.leases import shown_leases
    from fencepost.telemetry.logs import Log
    from fencepost.wiring import shown_store

    log, settings = Log("serving"), app.settings
    log.info("store", url=shown_store(settings), namespace=settings.namespace)
    if plans:
        log.info("leases", where=shown_leases(settings) or "store")
        log.info("plans", target=target, schedules=len(app.code_schedules))
    if works:
        queues, jobs = ",".join(settings.queues), ",".join(sorted(app.jobs)) or "none"
        log.info("works", target=target, jobs=jobs, queues=queues, concurrency=settings.concurrency)
