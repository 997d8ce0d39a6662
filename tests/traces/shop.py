"""The application of the traced fleet: one job of each kind, all of them ticking."""

import os
import signal
import sys

from fencepost import Every, Fencepost, Retry, Run

app = Fencepost()
SEEN = os.environ["SHOP_SEEN"]
"""Where the command leaves what it was given."""
BEAT = Every("2s")


@app.job(schedule=BEAT, retry=Retry(3, base="100ms", cap="200ms"))
async def flaky(run: Run) -> str | None:
    if run.attempt == 1:
        raise ConnectionError("the line is busy")
    return run.traceparent


@app.job(schedule=BEAT)
def threaded(run: Run) -> str:
    from opentelemetry import trace

    with trace.get_tracer("shop").start_as_current_span("inside", attributes={"fencepost.run_key": run.key}):
        return str(run.traceparent)


@app.job(schedule=BEAT, executor="process")
def crunch(run: Run) -> str:
    from opentelemetry import trace

    found = trace.get_current_span().get_span_context()
    return f"{run.traceparent} {found.trace_id:032x} {found.span_id:016x}"


@app.job(retry=Retry(3, base="100ms", cap="200ms"))
async def lethal(run: Run) -> None:
    if run.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)


WRITE = (
    f"import os; open({SEEN!r}, 'a').write('{{FENCEPOST_RUN_KEY}} {{TRACEPARENT}}\\n'.format(**os.environ))"
)
app.add_command("echo", [sys.executable, "-c", WRITE])
app.add_schedule("echo", job="echo", trigger=BEAT)
if url := os.environ.get("SHOP_TARGET"):
    app.add_http("call", url, allow_private=True, ports=[int(url.rpartition(":")[2].partition("/")[0])])
    app.add_schedule("call", job="call", trigger=BEAT)
