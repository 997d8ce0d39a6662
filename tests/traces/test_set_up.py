"""The provider that the OTEL_ variables make, and what a process without any of them loads."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fencepost.telemetry.traces.set_up import wanted_place
from tests.cli.processes import SIGTERM, Process, clean_environment, started
from tests.traces.receiver import receiving

PLACE = "http://collector:4318"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": PLACE}
MANIFEST = """
[jobs.tick]
command = ["/bin/true"]

[schedules.tick]
job = "tick"
every = "1s"
"""
CANARY = "canary-9f3c27d1"
LEAK = """
import os
from fencepost import Every, Fencepost, Retry

app = Fencepost()


@app.job(schedule=Every("1s"), retry=Retry(1))
async def tick() -> None:
    raise ValueError(os.environ["OTEL_EXPORTER_OTLP_HEADERS"])
"""

PLACES = [
    ({}, None),
    ({"OTEL_SERVICE_NAME": "shop"}, None),
    ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None),
    (ENDPOINT, PLACE),
    ({**ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces/v1"}, "http://traces/v1"),
    ({"OTEL_TRACES_EXPORTER": "otlp"}, "http://localhost:4318"),
    ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, None),
    ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "zipkin"}, None),
    ({**ENDPOINT, "OTEL_SDK_DISABLED": "TRUE"}, None),
    ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, None),
    ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, PLACE),
]


@pytest.mark.parametrize(("environment", "place"), PLACES)
def test_traces_are_wanted_where_the_variables_name_a_place(
    environment: dict[str, str], place: str | None
) -> None:
    assert wanted_place(environment) == place


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "fencepost.toml"
    path.write_text(MANIFEST)
    return path


def test_the_variables_say_who_writes_and_how_and_their_headers_stay_secret(tmp_path: Path) -> None:
    (tmp_path / "leak.py").write_text(LEAK)
    told = {
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={CANARY}",
    }
    with receiving() as receiver:
        told["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.endpoint
        with started("run", "leak:app", folder=tmp_path, **told) as process:
            process.wait_for("ValueError: x-api-key=")
            spans = receiver.until_run("tick")
            process.signal(SIGTERM)
            assert process.ended() == 0
    assert {one.service for one in spans} == {"shop"}
    assert {one["x-api-key"] for one in receiver.headers} == {CANARY}
    assert f"traces to={receiver.endpoint}" in process.said
    assert CANARY not in process.said
    assert CANARY.encode() not in b"".join(receiver.bodies)


def test_the_last_spans_are_sent_before_the_process_ends(manifest: Path) -> None:
    """Nothing is sent in between: the delay is longer than the process lives."""
    with receiving() as receiver:
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "600000"}
        with started("run", str(manifest), folder=manifest.parent, **told) as process:
            process.wait_for("succeeded")
            assert receiver.spans == []
            process.signal(SIGTERM)
            assert process.ended() == 0
        assert {"plan", "dispatch", "run", "attempt"} <= {one.verb for one in receiver.spans}
        assert {one.service for one in receiver.spans} == {"fencepost"}


WATCHED = """
import sys, runpy
class Deny:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"opentelemetry", "requests"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Deny())
sys.argv = ["fencepost", *sys.argv[1:]]
runpy.run_module("fencepost", run_name="__main__")
"""


class Program(Process):
    """Python itself, with a script before the words."""

    head = ()


@pytest.mark.parametrize("told", [{}, ENDPOINT], ids=["off", "on"])
def test_without_the_extra_runs_go_on(manifest: Path, told: dict[str, str]) -> None:
    watched = manifest.with_name("watched.py")
    watched.write_text(WATCHED)
    process = Program((str(watched), "run", str(manifest)), manifest.parent, told)
    with closing(process):
        process.wait_for("succeeded")
        process.signal(SIGTERM)
        assert process.ended() == 0
    hints = [line for line in process.lines if 'pip install "fencepost[otel]"' in line.replace("\\", "")]
    assert len(hints) == len(told)


def test_off_opentelemetry_is_not_even_imported(manifest: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from fencepost.cli.target import load_target\n"
        "app = load_target('fencepost.toml')\n"
        "async def main():\n"
        "    async with app, app.running():\n"
        "        await app.enqueue('tick', key='1')\n"
        "asyncio.run(main())\n"
        "import fencepost.telemetry.traces.set_up as s; s.set_up({}); s.close()\n"
        "print(sorted(one for one in sys.modules if one.startswith('opentelemetry')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=manifest.parent,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "[]"
