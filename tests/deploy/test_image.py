"""The image in a container engine: nothing in it is root, and it ends when it is asked to."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.ports import free_port

ENGINE = shlex.split(os.environ.get("FENCEPOST_TEST_ENGINE", ""))
RUN = shlex.split(os.environ.get("FENCEPOST_TEST_ENGINE_RUN", ""))
IMAGE, EXAMPLE = "fencepost", "fencepost-example"
STRICT = ("--read-only", "--tmpfs=/tmp", "--cap-drop=all", "--security-opt=no-new-privileges")
PATIENCE_S = 120.0
LOCK = Path(__file__).parents[2] / "requirements-image.lock"
HEALTH = ("python3", "/usr/local/lib/healthcheck.py")

pytestmark = [
    pytest.mark.image,
    pytest.mark.skipif(not ENGINE, reason="no container engine: make image-check"),
]


def engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What the engine answers."""
    return subprocess.run(
        [*ENGINE, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def told(command: str) -> str:
    """What a shell in the image prints."""
    done = engine("run", "--rm", *RUN, *STRICT, "--entrypoint=sh", IMAGE, "-c", command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Container:
    """One that runs."""

    def __init__(self, key: str) -> None:
        self._key = key

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command in it."""
        return engine("exec", self._key, *command)

    @property
    def log(self) -> str:
        done = engine("logs", self._key)
        return done.stdout + done.stderr

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.log, lambda: f"no {text!r} in:\n{self.log}")

    def stop(self) -> int:
        """Ask it to end; the exit code."""
        assert engine("stop", "--time=60", self._key).returncode == 0
        (state,) = json.loads(engine("inspect", self._key).stdout)
        return int(state["State"]["ExitCode"])


@contextmanager
def started(
    image: str, *command: str, variables: dict[str, str], options: tuple[str, ...] = ()
) -> Iterator[Container]:
    given = [f"--env={name}={value}" for name, value in variables.items()]
    done = engine(
        "run", "--detach", *RUN, *STRICT, "--tmpfs=/data:mode=1777", *given, *options, image, *command
    )
    assert done.returncode == 0, done.stderr
    key = done.stdout.split()[-1]
    try:
        yield Container(key)
    finally:
        engine("rm", "--force", key)


@pytest.fixture
def variables() -> dict[str, str]:
    return {
        "FENCEPOST_STORE": "sqlite:////data/fencepost.db",
        "FENCEPOST_METRICS": f"127.0.0.1:{free_port()}",
    }


def wait_until(is_so: Callable[[], bool], complaint: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, complaint()
        time.sleep(0.1)


def test_nothing_in_it_is_root() -> None:
    assert told("id -u; id -g").split() == ["10001", "10001"]


def test_nothing_builds_in_it() -> None:
    tools = "gcc cc make pip pip3 git"
    assert told(f"for tool in {tools}; do command -v $tool || true; done") == ""


def test_it_holds_what_the_lock_names_and_nothing_else() -> None:
    listing = (
        "from importlib.metadata import distributions as found; "
        "print(*(one.metadata['Name'].lower().replace('_', '-') + '==' + one.version for one in found()))"
    )
    installed = set(told(f'/opt/fencepost/bin/python -c "{listing}"').split())
    locked = {line.split()[0] for line in LOCK.read_text().splitlines() if "==" in line.split("#")[0]}
    own = {one for one in installed if one.startswith("fencepost==")}
    assert len(own) == 1
    assert installed - own <= locked


def test_its_modules_are_compiled_without_times() -> None:
    flags = "import fencepost, pathlib; print(open(fencepost.__cached__, 'rb').read(8)[4])"
    assert told(f'/opt/fencepost/bin/python -c "{flags}"') == "1"


def test_an_application_on_top_runs_and_stops_cleanly(variables: dict[str, str]) -> None:
    address = f"http://{variables['FENCEPOST_METRICS']}/healthz"
    with started(EXAMPLE, variables=variables) as container:
        container.wait_for("run succeeded run_key=count_stock#")
        assert container.run(*HEALTH, address).returncode == 0
        assert container.run(*HEALTH, f"http://127.0.0.1:{free_port()}").returncode == 1
        status = container.run("fencepost", "status", "--json")
        assert json.loads(status.stdout)["shards"], status.stderr
        assert container.stop() == 0
        assert "node stopped" in container.log


def test_what_a_job_leaves_behind_is_reaped(variables: dict[str, str]) -> None:
    with started(EXAMPLE, variables=variables) as container:
        container.wait_for("node started")
        left = container.run("sh", "-c", "sleep 0.2 >/dev/null 2>&1 & echo $!").stdout.strip()
        wait_until(
            lambda: container.run("test", "-e", f"/proc/{left}").returncode == 1,
            lambda: f"process {left} has ended, and nothing took note of it",
        )


def test_a_signal_ends_it_from_the_first_moment(variables: dict[str, str]) -> None:
    with started(EXAMPLE, variables=variables | {"FENCEPOST_LOG_LEVEL": "debug"}) as container:
        began = time.monotonic()
        assert container.stop() in (0, 143)
        assert time.monotonic() - began < 60
