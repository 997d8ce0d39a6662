"""The real web over the ledger of a million runs: how long every page and every list takes, over HTTP.

One server process, one client, one request after the other on one connection, so that what is measured is how
long an answer takes and not how many there are at once. Beside it stands the processor time that the server
took for one: on a busy machine that is what an answer costs, and the rest is waiting.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import urlencode

from benchmarks.ground import BUSY, JOB
from benchmarks.pages_asked import API, Query, page_urls, posted_forms, reading_urls
from benchmarks.report import Figure, heading, median, percentile
from benchmarks.timing import Stopwatch
from fencepost import Fencepost
from tests.cli.calls import called
from tests.cli.processes import started
from tests.servers.ports import free_port

TARGET = "benchmarks.pages_web:app"
ROOT = Path(__file__).parents[1]
WARM_UPS, TRIES = 2, 30
CALENDAR = "holidays"
GOAL_MS = 300.0
GOAL = f"< {GOAL_MS:g}"
LOGGED = "schedule-00001"
"""Its newest run has a long log."""
PATIENCE_S = 60.0
LOOK_AGAIN_S, LOOKS_MAX = 0.5, 240

NOTHING: Mapping[str, str] = MappingProxyType({})
Question: TypeAlias = tuple[str, Callable[[], bytes]]
"""What is asked, and how."""

app = Fencepost("memory://")


@dataclass(frozen=True)
class Browser:
    """Somebody with a token, and their one connection."""

    connection: http.client.HTTPConnection
    token: str
    server_pid: int

    def get(self, url: str) -> bytes:
        return self.ask("GET", url)

    def post(self, url: str, fields: Query) -> bytes:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", url, urlencode(fields), form)

    def ask(self, method: str, url: str, sent: str = "", headers: Mapping[str, str] = NOTHING) -> bytes:
        """The whole answer; one that is no answer to the question would be measured as a quick one."""
        shown = {"Authorization": f"Bearer {self.token}", **headers}
        self.connection.request(method, url, sent or None, headers=shown)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{url}: {answer.status} {body[:500].decode()}"
        return body

    def server_s(self) -> float:
        """The processor time that the server has taken so far."""
        fields = Path(f"/proc/{self.server_pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get_json(self, path: str) -> Any:
        return json.loads(self.get(API + path))


def measure(url: str) -> list[Figure]:
    """Every page, then every reading of the API, and the worst of each."""
    figures: list[Figure] = []
    with served(url) as browser:
        sample = samples(browser)
        until_known(browser)
        pages = [*asked(browser, page_urls(sample)), *sent(browser, posted_forms(sample))]
        for kind, questions in (("pages", pages), ("API", asked(browser, reading_urls(sample)))):
            heading(f"{kind} over HTTP, {TRIES} times each")
            found = [timed(browser, name, ask) for name, ask in questions]
            worst = max(one.value for one in found)
            goal = Figure(
                f"{kind}, the worst p95 of {len(found)}", worst, "ms", goal=GOAL, good=worst < GOAL_MS
            )
            figures += [*found, goal]
    return figures


@contextmanager
def served(url: str) -> Iterator[Browser]:
    """The server as a process of its own, and somebody who may see everything."""
    token = called("token", "create", "benchmark", "--role", "admin", "--store", url).strip()
    called("calendars", "set", CALENDAR, "--holiday", "2026-12-25", "--store", url)
    port = free_port()
    arguments = ("web", TARGET, "--bind", f"127.0.0.1:{port}", "--store", url)
    with started(*arguments, folder=ROOT) as process:
        process.wait_for("web serving")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            yield Browser(connection, token, process.pid)
        finally:
            connection.close()


def samples(browser: Browser) -> dict[str, str]:
    """Values for what stands in paths, found as a caller would find them."""
    dead, running, logged = (
        browser.get_json(f"/runs?{query}&limit=1")["items"][0]
        for query in ("state=dead", "state=running", f"schedule={LOGGED}")
    )
    return {
        "run_key": logged["run_key"],
        "dead_key": dead["run_key"],
        "running_key": running["run_key"],
        "schedule_id": BUSY,
        "fire_time": dead["fire_time"],
        "job": JOB,
        "backfill_id": str(browser.get_json("/backfills?limit=1")["items"][0]["backfill_id"]),
        "name": CALENDAR,
    }


def until_known(browser: Browser) -> None:
    """Until the forecast has been made, which takes seconds and which no page waits for."""
    for _ in range(LOOKS_MAX):
        if b"It is being computed" not in browser.get("/forecast"):
            return
        time.sleep(LOOK_AGAIN_S)
    raise AssertionError("the forecast was never made")


def asked(browser: Browser, urls: Iterable[str]) -> list[Question]:
    """Each address as a question."""
    return [(url, partial(browser.get, url)) for url in urls]


def sent(browser: Browser, forms: Iterable[tuple[str, Query]]) -> list[Question]:
    """Each form as a question."""
    return [(f"POST {url}", partial(browser.post, url, fields)) for url, fields in forms]


def timed(browser: Browser, name: str, ask: Callable[[], bytes]) -> Figure:
    """The time of the worst but one, with the middle and the size beside it."""
    body = ask()
    for _ in range(WARM_UPS):
        ask()
    spans: list[float] = []
    before_s = browser.server_s()
    for _ in range(TRIES):
        watch = Stopwatch()
        ask()
        spans.append(watch.seconds * 1000)
    p95 = percentile(spans, 0.95)
    each_ms = (browser.server_s() - before_s) / TRIES * 1000
    note = f"p50 {median(spans):,.1f} ms, server {each_ms:,.1f} ms, {len(body) / 1024:,.1f} KiB"
    return Figure(name, p95, "ms", goal=GOAL, good=p95 < GOAL_MS, note=note)
