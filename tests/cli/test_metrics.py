"""`--metrics` of real processes: what Prometheus would see, and what is refused before anything begins."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fencepost.telemetry.catalogue import CATALOGUE, LEDGER_GAUGES
from tests.cli.calls import call, called
from tests.cli.processes import SIGTERM, Process, started
from tests.deploy.promtool import needs_promtool, promtool
from tests.servers.ports import free_port

SHOP = """
import asyncio
from fencepost import CatchUp, Every, Fencepost, Retry

app = Fencepost("sqlite:///store.db", grace_s=1, gauges_every_s=0.2, reap_every_s=0.2)

@app.job(schedule=Every("200ms"), overlap="allow")
async def good(): ...

@app.job(schedule=Every("500ms"), overlap="allow", retry=Retry(2, base="10ms", cap="20ms"))
async def bad():
    raise RuntimeError("no")

@app.job(schedule=Every("200ms"), overlap="skip")
async def slow():
    await asyncio.sleep(1)

@app.job(schedule=Every("1s"), catch_up=CatchUp("none", "1s"), queue="nobody")
async def late(): ...
"""

Sample = tuple[str, frozenset[tuple[str, str]]]
LOOKS_MAX = 300
ONLY_OF_BROKERS = {
    "fencepost_broker_backlog",
    "fencepost_broker_failures_total",
    "fencepost_messages_taken_total",
    "fencepost_redeliveries_total",
}
ONLY_OF_FAULTS = {
    "fencepost_clock_set_back_total",
    "fencepost_quota_refusals_total",
    "fencepost_store_failures_total",
    "fencepost_web_refused_total",
}
LOOK_EVERY_S = 0.2


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def address(process: Process) -> str:
    return process.wait_for("metrics serving").split("address=")[1].strip()


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text: str = answer.read().decode()
    return text


def samples(text: str) -> dict[Sample, float]:
    return {
        (one.name, frozenset(one.labels.items())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def value(found: dict[Sample, float], name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0.0)


def seen(url: str, holds: Callable[[dict[Sample, float]], bool]) -> str:
    """The page once it says so."""
    text = ""
    for _ in range(LOOKS_MAX):
        text = scraped(url)
        if holds(samples(text)):
            return text
        threading.Event().wait(LOOK_EVERY_S)
    raise AssertionError(text)


def has_happened(found: dict[Sample, float]) -> bool:
    return all(
        (
            value(found, "job_run_total", job_id="good", status="succeeded") > 2,
            value(found, "job_run_total", job_id="bad", status="dead") > 0,
            value(found, "job_run_total", job_id="slow", status="skipped") > 0,
            value(found, "job_run_total", job_id="slow", status="succeeded") > 0,
            value(found, "scheduler_dispatch_total", job_id="bad", result="retried") > 0,
            value(found, "job_missed_total", job_id="late") > 0,
            value(found, "job_backfill_total", job_id="good") > 0,
            value(found, "fencepost_dead_letters") > 0,
        )
    )


@needs_promtool
def test_a_process_shows_every_metric_that_is_promised_as_promtool_wants_them(shop: Path) -> None:
    """About 6 s: a real node, until everything that is counted has happened."""
    store = f"sqlite:///{shop / 'store.db'}"
    with started("run", "shop:app", "--metrics", "127.0.0.1:0", folder=shop) as process:
        url = address(process)
        seen(url, lambda found: value(found, "job_run_total", job_id="good", status="succeeded") > 2)
        called("backfill", "good", "--from", "1m", "--to", "0s", "--force", "--detach", "--store", store)
        text = seen(url, has_happened)
        process.signal(SIGTERM)
        assert process.ended() == 0
    checked = promtool("check", "metrics", given=text.encode())
    assert (checked.returncode, checked.stdout) == (0, b"")
    labels = {(name, frozenset(dict(pairs))) for name, pairs in samples(text)}
    for one in CATALOGUE:
        if one.name not in ONLY_OF_FAULTS | ONLY_OF_BROKERS:
            name = f"{one.name}_count" if one.buckets else one.name
            assert (name, frozenset(one.labels)) in labels, one.name


def test_a_worker_shows_its_own_and_nothing_that_it_never_read(shop: Path) -> None:
    with started("worker", "shop:app", folder=shop, FENCEPOST_METRICS="127.0.0.1:0") as process:
        text = scraped(address(process))
        process.signal(SIGTERM)
        assert process.ended() == 0
    names = {name for name, _ in samples(text)}
    assert "fencepost_build_info" in names
    assert not names & {one.name for one in LEDGER_GAUGES}


def test_a_processor_shows_how_it_stands_to_its_broker(shop: Path) -> None:
    away = f"redis://127.0.0.1:{free_port()}"
    words = ("--broker", away, "--from", "thumbs", "--metrics", "127.0.0.1:0")
    with started("processor", "shop:app", *words, folder=shop) as process:
        url = address(process)
        seen(url, lambda found: value(found, "fencepost_broker_failures_total", service="processor") > 0)
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert "Traceback" not in process.said


def test_a_scheduler_has_health_beside_its_metrics(shop: Path) -> None:
    with started("scheduler", "shop:app", "--metrics", "127.0.0.1:0", folder=shop) as process:
        url = address(process)
        with urllib.request.urlopen(url.replace("/metrics", "/healthz"), timeout=30) as answer:
            assert answer.read() == b"ok\n"
        seen(url, lambda found: value(found, "fencepost_shards_led") == 8)
        seen(url, lambda found: ("fencepost_shards_unled", frozenset()) in found)
        process.signal(SIGTERM)
        assert process.ended() == 0


def test_without_the_setting_nothing_listens(shop: Path) -> None:
    with started("worker", "shop:app", folder=shop) as process:
        process.wait_for("node started")
        process.signal(SIGTERM)
        assert process.ended() == 0
    assert "metrics" not in process.said


def test_a_port_that_is_taken_is_one_line(shop: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with started("run", "shop:app", "--metrics", place, folder=shop) as process:
            assert process.ended() == 2
    assert process.lines == [
        f"fencepost: metrics {place}: Address already in use; choose another with --metrics"
    ]


def test_an_address_that_is_none_is_one_line(shop: Path) -> None:
    with started("worker", "shop:app", "--metrics", "everywhere", folder=shop) as process:
        assert process.ended() == 2
    (line,) = process.lines
    assert line.startswith("fencepost: metrics ")
    assert "expected HOST:PORT" in line


def test_a_missing_extra_is_one_line_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.wiring.find_spec", lambda name: None)
    manifest = tmp_path / "fencepost.toml"
    manifest.write_text('[jobs.nothing]\ncommand = ["/bin/true"]\n')
    store = f"sqlite:///{tmp_path / 'store.db'}"
    result = call("worker", str(manifest), "--metrics", "127.0.0.1:0", "--store", store)
    assert result.exit_code == 2
    assert result.stderr == 'fencepost: metrics need the extra: pip install "fencepost[metrics]"\n'
