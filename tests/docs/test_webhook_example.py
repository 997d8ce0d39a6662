"""The webhook example: a receiver and a manifest, both as they stand, on a port of their own."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fencepost.executors.http.signing import signed_headers
from tests.cli.calls import called_json
from tests.cli.processes import SIGTERM, started

EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()
DOCUMENTED_PORT = "8581"


@contextmanager
def receiver() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The receiver and its port."""
    process = subprocess.Popen(
        [sys.executable, "webhook_receiver.py", "0"],
        cwd=EXAMPLES,
        env={**os.environ, "WEBHOOK_SECRET": SECRET},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip().rpartition(":")[2]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_receiver_hears_of_each_run_and_the_ledger_keeps_what_it_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'example.db'}"
    with receiver() as (_, port):
        manifest = tmp_path / "webhook.toml"
        manifest.write_text((EXAMPLES / "webhook.toml").read_text().replace(DOCUMENTED_PORT, port))
        call = ("run", str(manifest), "--store", url)
        with started(*call, folder=tmp_path, WEBHOOK_SECRET=SECRET) as process:
            process.wait_for("succeeded")
            process.signal(SIGTERM)
            assert process.ended() == 0, process.said
    runs = called_json("runs", "list", "--schedule", "nudge", "--state", "succeeded", "--store", url)
    shown = called_json("runs", "show", runs[-1]["run_key"], "--store", url)
    assert f"did {runs[-1]['run_key']}: everybody, it is time" in str(shown)
    assert SECRET not in str(shown)


def told(port: str, headers: dict[str, str], body: bytes) -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_receiver_does_once_what_it_is_told_twice_and_nothing_for_strangers() -> None:
    body = b'{"text": "hello"}'
    signed = signed_headers("nudge#1", datetime.now(UTC), body, [SECRET])
    signed["Fencepost-Fence"] = "1"
    with receiver() as (_, port):
        assert told(port, signed, body) == (200, "did nudge#1: hello")
        assert told(port, signed, body) == (200, "did nudge#1 before")
        assert told(port, signed, b'{"text": "bye"}')[0] == 401
        assert told(port, {}, body)[0] == 401
