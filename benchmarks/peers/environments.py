"""An environment for each peer, made once under `build/peers/`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.catalogue import Peer
from benchmarks.report import heading

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build" / "peers"
LIMIT_S = 300.0


class NotToBeHad(Exception):
    """The text says why, in one line."""


def python_of(peer: Peer) -> str:
    """The Python of an environment that has what `NAME.txt` says."""
    wanted = (HERE / f"{peer.name}.txt").read_text()
    folder = BUILD / peer.name
    made = folder / "made-of.txt"
    if not made.exists() or made.read_text() != wanted:
        heading(f"{peer.name}: an environment in {folder.relative_to(BUILD.parent.parent)}")
        uv = _uv()
        _run([uv, "venv", "--clear", "--quiet", "--python", peer.python or sys.executable, str(folder)])
        _run(
            [
                uv,
                "pip",
                "install",
                "--quiet",
                "--python",
                _python(folder),
                "-r",
                str(HERE / f"{peer.name}.txt"),
            ]
        )
        made.write_text(wanted)
    return _python(folder)


def _python(folder: Path) -> str:
    return str(folder / "bin" / "python")


def _uv() -> str:
    found = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        raise NotToBeHad("uv is not installed")
    return found


def _run(command: list[str]) -> None:
    environment = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
    except subprocess.CalledProcessError as error:
        raise NotToBeHad(_one_line(error.stderr)) from None
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"not made within {LIMIT_S:g} s") from None


def _one_line(text: str) -> str:
    """What uv says, without its marks."""
    lines = [line.strip(" ×╰─▶│") for line in text.splitlines()]
    return " ".join(line for line in lines if line)[:200] or "uv says nothing"
