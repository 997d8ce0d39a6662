"""`fencepost processor`: runs that come as messages, done without a store."""

from __future__ import annotations

from contextlib import closing, nullcontext

import click

from fencepost.app import Fencepost
from fencepost.assembly import build_processors
from fencepost.cli.metrics import metrics_beside, metrics_option
from fencepost.cli.options import broker_option, logged
from fencepost.cli.serving import Stopper, serve
from fencepost.cli.target import load_target
from fencepost.errors import InvalidSettings
from fencepost.model.message import checked_destination


@click.command()
@click.argument("target", metavar="TARGET")
@broker_option
@click.option(
    "--from",
    "sources",
    metavar="NAME",
    multiple=True,
    help="A destination whose messages to do, again for each; those of the application's message jobs "
    "unless given.",
)
@click.option("--concurrency", type=click.IntRange(min=1), help="How many at once of each; 20 unless given.")
@logged
@metrics_option
@click.pass_context
def processor(
    context: click.Context,
    target: str,
    broker: str | None,
    sources: tuple[str, ...],
    concurrency: int | None,
    metrics: str | None,
) -> None:
    """Do runs that come as messages, with no store.

    TARGET is module:app or a fencepost.toml. Its functions, commands and HTTP calls are done for the messages
    that name them; another process sends those: fencepost worker with --broker. Ctrl-C stops cleanly.

    \b
    Example:
      fencepost processor shop:app --broker amqp://guest:guest@localhost
      fencepost processor shop:app --broker nats://localhost --from thumbs --concurrency 4
      fencepost processor shop:app --broker nats://localhost --metrics 127.0.0.1:9580
    """
    app = load_target(target)
    app.configure(broker=broker, concurrency=concurrency, metrics=metrics)
    if not app.settings.broker:
        raise InvalidSettings("no broker is set; add --broker URL, or FENCEPOST_BROKER")
    chosen = tuple(map(checked_destination, sources)) or own_destinations(app)
    if not chosen:
        raise InvalidSettings(
            f"{target}: no message job has a function here; decorate one with app.message_job(…), "
            "or name a destination with --from"
        )

    shown = metrics_beside(app)

    async def work(stopper: Stopper) -> None:
        processors = await build_processors(app.settings, app.jobs_here, chosen)
        if shown is not None:
            processors.also(shown)
        await stopper.run(processors)

    with nullcontext() if shown is None else closing(shown):
        code = serve(app, work)
    context.exit(code)


def own_destinations(app: Fencepost) -> tuple[str, ...]:
    """Those of the message jobs that have a function in this application."""
    routes = (job.spec.message for job in app.jobs_here.values())
    return tuple(sorted({one.destination for one in routes if one is not None}))
