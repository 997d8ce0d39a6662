"""The guide to Celery is followed, command by command: two beats, a worker, a kill, a job, an import."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from tests.cli.processes import SIGTERM, clean_environment
from tests.contrib.servers import Program, program
from tests.examples.programs import EXAMPLES
from tests.servers.process import Address

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "celery.md"
FOLDER = EXAMPLES / "celery"
BLOCKS = [
    (language, textwrap.dedent(f"{indent}{body}"))
    for indent, language, body in re.findall(
        r"^( *)```(\w+)\n(.*?)^ *```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
]
PATIENCE_S = 120
SERVES = ("celery -A proj beat", "celery -A proj worker", "fencepost run")

pytestmark = [pytest.mark.redis, pytest.mark.timeout(400)]


def blocks(language: str) -> list[str]:
    return [textwrap.dedent(body) for name, body in BLOCKS if name == language]


@pytest.mark.parametrize("file", ["proj.py", "jobs.py", "fencepost.toml"])
def test_the_snippets_stand_in_the_example(file: str) -> None:
    text = (FOLDER / file).read_text("utf-8")
    found = [one for one in (*blocks("python"), *blocks("toml")) if one in text]
    assert len(found) == 1


def test_the_extras_are_there() -> None:
    (command,) = [one for one in blocks("sh") if one.startswith("pip install")]
    extras = re.findall(r"\[(.*)\]", command)[0].split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras) <= known.keys()


class Follower:
    """A reader who follows the guide; programs that serve have a terminal of their own."""

    def __init__(self, folder: Path, store: str, place: str, terminals: ExitStack) -> None:
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        self.folder = folder
        self.store = store
        self.serving: dict[str, list[Program]] = {}
        self._terminals = terminals
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._words = {"PATH": path, "CELERY_BROKER_URL": place, "CELERY_RESULT_BACKEND": place}
        self._words |= {"FENCEPOST_STORE": store, "FENCEPOST_POLL_S": "1"}

    def serve(self, command: str) -> Program:
        name, *words = command.split()
        started = program("-m", name, *words, folder=self.folder, **self._words)
        process = self._terminals.enter_context(started)
        self.serving.setdefault(command, []).append(process)
        return process

    def run(self, script: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=self.folder,
            env={**clean_environment(), **self._words},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, script + done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def follower(tmp_path: Path, redis_server: Address, postgres_url: str) -> Iterator[Follower]:
    redis.Redis.from_url(redis_server.url).flushall()
    with ExitStack() as terminals:
        yield Follower(tmp_path, postgres_url, redis_server.url, terminals)


@pytest.mark.proof
@pytest.mark.postgres
def test_every_command_does_what_the_guide_says(follower: Follower) -> None:
    """Two beats, a worker and every command of the guide, each a process."""
    install, store, beat, worker, look, kill, run, enqueue, bring = blocks("sh")
    assert install.startswith("pip install")
    follower.run(store.replace("postgresql://fencepost@db.example.org/fencepost", follower.store))
    first, second = follower.serve(beat), follower.serve(beat)
    works = follower.serve(worker)
    works.wait_for("proj.beat")
    works.wait_for("succeeded")
    for process in (first, second):
        process.wait_for("node started")
    said = follower.run(look)
    assert "beat/heartbeat" in said
    assert "beat/nightly-report" in said
    assert kill == "pkill -9 -n -f 'celery -A proj beat'\n"
    os.kill(second.pid, 9)
    seen = works.said.count("Task proj.beat")
    works.wait_for_lines("Task proj.beat", seen + 6)

    serves = follower.serve(run)
    serves.wait_for("works")
    key = follower.run(enqueue).split()[-1]
    serves.wait_for(f"succeeded run_key={key}")
    assert "the report for us" in follower.run(f"fencepost runs show '{key}'")
    follower.run(bring)
    assert (
        'app.celery_task("proj.report", celery="proj:app")' in (follower.folder / "schedules.py").read_text()
    )
    for process in (first, serves):
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
        assert "Traceback" not in process.said
