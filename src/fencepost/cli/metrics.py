"""`--metrics`: a socket on which a process without a web shows its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.app import Fencepost
from fencepost.telemetry.logs import Log
from fencepost.web.binding import bound, is_loopback
from fencepost.wiring import require_metrics

if TYPE_CHECKING:
    from fencepost.telemetry.metrics_server import MetricsServer

metrics_option = click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="Show metrics for Prometheus here, at /metrics, to whoever can reach it.",
)


def metrics_beside(app: Fencepost) -> MetricsServer | None:
    """The server of this process's metrics, with its socket bound, to be run beside the services of a node;
    None where nobody asked for one. They count from now on."""
    where = app.settings.metrics
    if not where:
        return None
    require_metrics()
    from fencepost.telemetry.metrics import CONTENT_TYPE, start_metrics
    from fencepost.telemetry.metrics_server import MetricsServer

    listener = bound(where, "metrics")
    if not is_loopback(listener):
        Log("metrics").warning("other hosts can read the metrics, without a token", metrics=where)
    return MetricsServer(start_metrics(app.settings.metrics_jobs_max), CONTENT_TYPE, listener)
