"""What the tests of examples share: programs run to their end, and a look into the ledger until it is so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

from tests.cli.calls import called, called_json
from tests.cli.processes import clean_environment

EXAMPLES = Path(__file__).parents[2] / "examples"
LOOKS_MAX = 300
PAUSE_S = 0.1
PATIENCE_S = 180


def said_by(*arguments: str, folder: Path, **environment: str) -> str:
    """What a Python program printed, which must end well."""
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**clean_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def enqueued(url: str, job: str, payload: str, key: str = "1") -> str:
    """The key of a new run."""
    called("enqueue", job, "--key", key, "--payload", payload, "--store", url)
    return f"{job}#{key}"


def ended_runs(url: str, job: str, number: int = 1) -> list[dict[str, Any]]:
    """The runs of a job, once so many of them have succeeded."""
    pause, runs = Event(), list[dict[str, Any]]()
    for _ in range(LOOKS_MAX):
        runs = [one for one in called_json("runs", "list", "--store", url) if one["job"] == job]
        if sum(one["state"] == "succeeded" for one in runs) >= number:
            return runs
        assert not any(one["state"] == "dead" for one in runs), runs
        pause.wait(PAUSE_S)
    raise AssertionError(f"{job} did not succeed {number} times: {runs}")


def rows_of(url: str, query: str) -> list[tuple[Any, ...]]:
    """What a query finds, read by somebody else."""
    if url.startswith("sqlite"):
        import apsw

        reader = apsw.Connection(url.removeprefix("sqlite:///"))
        found = [tuple(row) for row in reader.execute(query)]
        reader.close()
        return found
    import psycopg

    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()
