"""The tutorial is followed: word by word from an empty folder, and its programs with what is here."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.errors import InvalidPayload
from fencepost.services.bridge import bridge
from tests.cli.forks import ROOT
from tests.cli.processes import started
from tests.docs.tutorial import PAGE, File, Reader, Typed, answered, path_with, steps
from tests.servers.ports import free_port

PINNED = re.compile(r"^([\w.-]+==[^\s;\\]+)", re.MULTILINE)
STORE_ON_PAGE = "postgresql://postgres@localhost/shop"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of the page, in which programs find each other."""
    for one in steps():
        if isinstance(one, File):
            (tmp_path / one.name).write_text(one.text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    shop: Any = sys.modules.pop("shop", None)
    if shop is not None:
        bridge().call(shop.app.close())


def test_the_programs_do_what_the_page_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker is a process of its own, and a tick may be five seconds away."""

    def run(program: str) -> str:
        runpy.run_path(program, run_name="__main__")
        return capsys.readouterr().out

    fits = answered("python call.py")
    waits = run("call.py")
    with started("run", "prices:app", folder=folder) as worker:
        worker.wait_for("succeeded run_key=resize#first")
        ended = run("call.py")
        assert waits != ended
        assert fits(waits)
        assert fits(ended)
        for program in ("result.py", "options.py"):
            said = run(program)
            assert answered(f"python {program}")(said), said
        with pytest.raises(InvalidPayload, match=r"unknown name 'imageid'; the job takes: image_id, width"):
            sys.modules["shop"].resize.delay(imageid=8)
        worker.wait_for("succeeded run_key=heartbeat#")


def test_the_page_is_linked_from_where_a_newcomer_looks() -> None:
    assert "(docs/tutorial.md)" in (ROOT / "README.md").read_text("utf-8")
    named = {one.name for one in steps() if isinstance(one, File)}
    typed = " ".join(one.command for one in steps() if isinstance(one, Typed))
    assert all(name in typed or f"{name.removesuffix('.py')}:app" in typed for name in named)


@pytest.mark.proof
@pytest.mark.postgres
@pytest.mark.timeout(900)
def test_every_line_of_the_page_does_what_it_says(tmp_path: Path, empty_postgres_url: str) -> None:
    """It builds a wheel, makes an environment and installs there all that the wheel needs: minutes."""
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = (tmp_path / "dist").iterdir()
    pinned = tmp_path / "constraints.txt"
    pinned.write_text("\n".join(PINNED.findall((ROOT / "requirements.lock").read_text("utf-8"))))
    replaced = {
        "pip install": f"pip install --constraint '{pinned}'",
        "'fencepost[": f"'{wheel}[",
        STORE_ON_PAGE: empty_postgres_url,
        "8580": str(free_port()),
    }
    assert all(word in PAGE.read_text("utf-8") for word in replaced)
    reader = Reader(tmp_path / "shop", path_with(Path(sys.base_prefix) / "bin"), replaced)
    try:
        for one in steps():
            reader.follow(one)
        reader.stop()
    finally:
        reader.close()
