"""A real server process, called over a real socket, and real workers in other languages."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import PATIENCE_S, Process, started
from tests.servers.binaries import ServerMissing
from tests.servers.ports import free_port
from tests.web.house import CLAIMS, TOKEN, Answer, run_path

WORKERS = Path(__file__).parents[2] / "examples" / "workers"
MANIFEST = WORKERS / "fencepost.toml"
PATIENT = {"FENCEPOST_HEARTBEAT_EVERY_S": "1", "FENCEPOST_HEARTBEAT_TIMEOUT_S": "60"}
HASTY = {
    "FENCEPOST_HEARTBEAT_EVERY_S": "1",
    "FENCEPOST_HEARTBEAT_TIMEOUT_S": "8",
    "FENCEPOST_REAP_EVERY_S": "0.2",
}
PACKAGES = {"node": "nodejs", "curl": "curl", "jq": "jq", "openssl": "openssl", "chromium": "chromium"}
TOOLS = {"worker.mjs": ("node",), "worker.sh": ("curl", "jq")}
LOOK_AGAIN_S = 0.1
LOOKS_MAX = 600


class Server:
    """Where a server is to be found, and what its store says."""

    def __init__(self, store: str, port: int | None = None) -> None:
        self.store = store
        self.port = port or free_port()

    @contextmanager
    def process(self, folder: Path, *command: str, **environment: str) -> Iterator[Process]:
        """The server as a process, `fencepost web` of the workers' manifest unless told otherwise."""
        verb, *more = command or ("web",)
        arguments = (verb, str(MANIFEST), "--bind", f"127.0.0.1:{self.port}", "--store", self.store, *more)
        with started(*arguments, folder=folder, **{"FENCEPOST_TOKEN": TOKEN, **environment}) as process:
            process.wait_for("web serving")
            yield process

    def ask(self, method: str, path: str, body: Any = None, token: str | None = TOKEN) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read())
        finally:
            connection.close()

    def begin_claim(self, worker: str, wait_s: float) -> http.client.HTTPConnection:
        """A claim on its way, whose answer nobody has read yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        body = json.dumps({"worker": worker, "jobs": ["count"], "wait_s": wait_s})
        connection.request("POST", CLAIMS, body, {"Authorization": f"Bearer {TOKEN}"})
        return connection

    def claim(self, worker: str, **more: Any) -> list[dict[str, Any]]:
        answer = self.ask("POST", CLAIMS, {"worker": worker, "jobs": ["count"], **more})
        assert answer.status == 200, answer.body
        found: list[dict[str, Any]] = answer.body["claims"]
        return found

    def report(self, run: dict[str, Any], verb: str, **more: Any) -> Answer:
        ticket = {"attempt": run["attempt"], "fence": run["fence"]}
        return self.ask("POST", run_path(run["run_key"], verb), {**ticket, **more})

    def enqueue(self, key: str, to: int = 1, pause_s: float = 0.0) -> str:
        payload = json.dumps({"to": to, "pause_s": pause_s})
        called("enqueue", "count", "--key", key, "--payload", payload, "--store", self.store)
        return f"count#{key}"

    def worker_token(self) -> str:
        """A token that is good for the worker protocol and for nothing else."""
        name = f"worker-{secrets.token_hex(4)}"
        arguments = ("token", "create", name, "--role", "worker", "--store", self.store)
        with ThreadPoolExecutor(1) as thread:  # a command has a loop of its own, and a test may be in one
            return thread.submit(called, *arguments).result().strip()

    def run(self, run_key: str) -> dict[str, Any]:
        found: dict[str, Any] = called_json("runs", "show", run_key, "--store", self.store)
        return found

    def until(self, run_key: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The run, once that holds of it, within reason."""
        for _ in range(LOOKS_MAX):
            run = self.run(run_key)
            if holds(run):
                return run
            time.sleep(LOOK_AGAIN_S)
        raise AssertionError(f"it never came true of {self.run(run_key)}")


@contextmanager
def worker(program: str, port: int, token: str = TOKEN) -> Iterator[subprocess.Popen[bytes]]:
    """A reference worker in a process group of its own, which is killed at the end if it still runs."""
    for tool in TOOLS[program]:
        require(tool)
    command = ["node", str(WORKERS / program)] if program.endswith(".mjs") else ["sh", str(WORKERS / program)]
    process = subprocess.Popen(
        [*command, f"http://127.0.0.1:{port}"],
        env={**os.environ, "FENCEPOST_TOKEN": token},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """The worker and whatever it started, without a chance to say anything."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_S)


def require(tool: str) -> None:
    """Where it is not to be had, CI fails and a person is told."""
    if shutil.which(tool) is not None:
        return
    missing = ServerMissing(f"{tool} not found; as root: apt-get install {PACKAGES[tool]}")
    if os.environ.get("CI"):
        raise missing
    pytest.skip(str(missing))


def certified(folder: Path) -> tuple[Path, Path]:
    """A certificate that is good for this host, and its key."""
    require("openssl")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-out", str(certificate), "-keyout", str(key)], check=True, capture_output=True)
    return certificate, key
