"""`fencepost run`, `scheduler` and `worker`: a process that serves an application."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import click

from fencepost.app import Fencepost
from fencepost.cli.leases import shown_leases
from fencepost.cli.metrics import metrics_beside, metrics_option
from fencepost.cli.options import Place, broker_option, in_store, in_stores, logged
from fencepost.cli.serving import Stopper, serve
from fencepost.cli.target import load_target
from fencepost.cli.waiting import until_reachable, wait_option
from fencepost.cli.web import NO_TLS, TlsFiles, bind_option, open_door, takes_tls, web_beside
from fencepost.model.address import mask
from fencepost.telemetry.logs import Log
from fencepost.wiring import shown_store

target_argument = click.argument("target", metavar="TARGET")
concurrency_option = click.option(
    "--concurrency", type=click.IntRange(min=1), help="How many runs at once; 20 unless given."
)
node_option = click.option(
    "--node",
    metavar="NAME",
    help="What to call this process in status, leases and logs, before a part that no other has; its host "
    "and process id unless given. FENCEPOST_NODE says it for good.",
)
queues_option = click.option(
    "--queues",
    metavar="A,B",
    help="Which queues to work on, with weights as in mail:3,default:1; `default` unless given.",
)


@click.command()
@target_argument
@node_option
@concurrency_option
@queues_option
@broker_option
@bind_option
@takes_tls
@metrics_option
@wait_option
@in_stores
@logged
@click.pass_context
def run(
    context: click.Context,
    target: str,
    node: str | None,
    concurrency: int | None,
    queues: str | None,
    broker: str | None,
    bind: str | None,
    tls: TlsFiles,
    metrics: str | None,
    wait: bool,
    place: Place,
) -> None:
    """Plan and work in one process.

    TARGET is module:app, with the module in the current folder, or a fencepost.toml. Ctrl-C stops cleanly;
    pressed again, it waits for nothing.

    \b
    Example:
      fencepost run shop:app --store postgresql://shop@db/fencepost
      fencepost run shop:app --leases etcd://etcd-1:2379,etcd-2:2379,etcd-3:2379
      fencepost run fencepost.toml
      fencepost run fencepost.toml --bind 127.0.0.1:8580
      fencepost run fencepost.toml --metrics 127.0.0.1:9580
    """
    said: dict[str, Any] = {
        "node": node,
        "concurrency": concurrency,
        "queues": queues,
        "broker": broker,
        "metrics": metrics,
    }
    context.exit(_serve(target, place, wait, True, True, bind=bind, tls=tls, **said))


@click.command()
@target_argument
@node_option
@metrics_option
@wait_option
@in_stores
@logged
@click.pass_context
def scheduler(
    context: click.Context, target: str, node: str | None, metrics: str | None, wait: bool, place: Place
) -> None:
    """Plan only: write due runs ahead of time.

    Leases say who plans what. All nodes that plan need the same --leases; workers need none.

    \b
    Example:
      fencepost scheduler shop:app --store postgresql://shop@db/fencepost
      fencepost scheduler shop:app --leases kubernetes://jobs
    """
    context.exit(_serve(target, place, wait, True, False, node=node, metrics=metrics))


@click.command()
@target_argument
@node_option
@concurrency_option
@queues_option
@broker_option
@metrics_option
@wait_option
@in_store
@logged
@click.pass_context
def worker(
    context: click.Context,
    target: str,
    node: str | None,
    concurrency: int | None,
    queues: str | None,
    broker: str | None,
    metrics: str | None,
    wait: bool,
    place: Place,
) -> None:
    """Work only: claim due runs and do them.

    \b
    Example:
      fencepost worker shop:app --queues default,images --concurrency 50
      fencepost worker shop:app --broker amqp://guest:guest@localhost
    """
    said: dict[str, Any] = {
        "node": node,
        "concurrency": concurrency,
        "queues": queues,
        "broker": broker,
        "metrics": metrics,
    }
    context.exit(_serve(target, place, wait, False, True, **said))


def _serve(
    target: str,
    place: Place,
    wait: bool,
    plans: bool,
    works: bool,
    *,
    bind: str | None = None,
    tls: TlsFiles = NO_TLS,
    **overrides: Any,
) -> int:
    app = load_target(target)
    app.configure(store=place.store, leases=place.leases, namespace=place.namespace, **overrides)

    with ExitStack() as opened:
        listener = None if bind is None else opened.enter_context(open_door(app, bind, tls))
        shown = metrics_beside(app)
        if shown is not None:
            opened.enter_context(closing(shown))

        async def work(stopper: Stopper) -> None:
            await until_reachable(app.open, wait)
            async with app:
                node = await until_reachable(partial(app.node, plans=plans, works=works), wait)
                if listener is not None:
                    node.also(web_beside(app, listener, stopper.stop, tls))
                if shown is not None:
                    node.also(shown)
                _announce(target, app, plans, works)
                await stopper.run(node)

        return serve(app, work)


def _announce(target: str, app: Fencepost, plans: bool, works: bool) -> None:
    log, settings = Log("serving"), app.settings
    log.info("store", url=shown_store(settings), namespace=settings.namespace)
    if plans:
        log.info("leases", where=shown_leases(settings) or "store")
        log.info("plans", target=target, schedules=len(app.code_schedules))
    if works:
        own = sorted(name for name, job in app.jobs.items() if not job.spec.is_done_elsewhere)
        queues, jobs = ",".join(settings.queues), ",".join(own) or "none"
        sent = sorted(name for name, job in app.jobs.items() if job.spec.message is not None)
        if settings.broker and (sent or app.intakes):
            sources = ",".join(one.source for one in app.intakes) or "none"
            log.info("broker", url=mask(settings.broker), sends=",".join(sent) or "none", takes=sources)
        log.info("works", target=target, jobs=jobs, queues=queues, concurrency=settings.concurrency)
