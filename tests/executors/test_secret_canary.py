"""A planted canary: what careless jobs do with a secret is found nowhere in what the house has written."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.processes import said

ROOT = Path(__file__).parents[2]
CANARY = 'CaNaRy-7f3a9c it\'s #not; "to-sing"'
PIECES = ("CaNaRy-7f3a9c", "#not;", "to-sing")
JOBS = ("returns", "raises", "far_returns", "far_raises")
TARGET = "tests.executors.canary_jobs:app"
PATIENCE_S = 90


def fencepost(environment: dict[str, str], *arguments: str) -> str:
    """What a command says, on both streams."""
    code, text = said(*arguments, **environment)
    assert code == 0, text
    return text


def worked(environment: dict[str, str], ends: int) -> str:
    """All lines of a worker that was let end so many runs."""
    command = [sys.executable, "-m", "fencepost", "run", TARGET, "--log-level", "debug"]
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stderr is not None
        for line in worker.stderr:
            lines.append(line)
            ends -= ends > 0 and " run " in line and ("succeeded" in line or "dead" in line)
            if ends == 0:
                # Once: a second signal would end it before it has stopped cleanly.
                worker.terminate()
                ends = -1
        assert worker.wait(PATIENCE_S) == 0
    return "".join(line for line in lines if not line.startswith(("out ", "err ", "the key is ")))


def test_the_canary_is_found_nowhere(tmp_path: Path) -> None:
    """About 10 s: a real node and everything that it writes."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    environment = {**os.environ, "CANARY_KEY": CANARY, "CANARY_STORE": url, "FENCEPOST_STORE": url}
    fencepost(environment, "migrate")
    enqueue = [sys.executable, "-c", ENQUEUE]
    subprocess.run(enqueue, cwd=ROOT, env=environment, check=True, timeout=PATIENCE_S)
    heard = [worked(environment, len(JOBS)), fencepost(environment, "runs", "list")]
    for job in JOBS:
        heard.append(fencepost(environment, "runs", "show", f"{job}#1"))
        heard.append(fencepost(environment, "runs", "show", f"{job}#1", "--json"))
        heard.append(fencepost(environment, "runs", "logs", f"{job}#1"))
    told = "\n".join(heard)
    assert "***" in told
    assert not [piece for piece in PIECES if piece in told]
    for file in tmp_path.iterdir():
        kept = file.read_bytes()
        assert not [piece for piece in PIECES if piece.encode() in kept], file.name


ENQUEUE = f"""
import asyncio
from tests.executors.canary_jobs import app

async def main():
    async with app:
        for job in {JOBS!r}:
            await app.enqueue(job, key="1", token="secret:canary")

asyncio.run(main())
"""
