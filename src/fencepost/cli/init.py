"""`fencepost init`: a starting point in an empty folder."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
from pathlib import Path
from string import Template

import click

from fencepost.errors import UsageError
from fencepost.version import VERSION

TEMPLATES = Path(__file__).with_name("starting_point")
SUFFIX = ".txt"
NAMED_MAX = 3
"""How many of the things in a folder a refusal names."""


@click.command()
@click.argument("folder", metavar="[FOLDER]", default=".")
def init(folder: str) -> None:
    """Write a starting point into an empty folder: an application, its settings, a Dockerfile, a unit.

    FOLDER is made where it is not there; without it, it is the current one. app.py has a job that fires every
    ten seconds, fencepost.toml the settings and a command. The Dockerfile is on top of Fencepost's image, and
    fencepost.service starts the application on a host with systemd.

    \b
    Example:
      fencepost init shop
      cd shop && fencepost run app:app --bind 127.0.0.1:8580
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        check_empty(place)
        for name, text in starting_point(place.resolve()).items():
            (place / name).write_text(text, "utf-8")
            click.echo(f"wrote {place / name}")
    except OSError as error:
        raise UsageError(f"folder {folder}: {error.strerror}; choose one that you may write to") from None
    start = "" if place.resolve() == Path.cwd() else f"cd {folder} && "
    click.echo(f"start it: {start}fencepost run app:app")


def check_empty(place: Path) -> None:
    """Nothing that is there may be written over."""
    found = sorted(one.name for one in place.iterdir())
    if found:
        shown = ", ".join(found[:NAMED_MAX]) + (", …" if len(found) > NAMED_MAX else "")
        raise UsageError(f"folder {place}: it is not empty, it holds {shown}; choose an empty one")


def starting_point(folder: Path) -> dict[str, str]:
    """The text of each file, by its name."""
    words = {
        "version": VERSION,
        "folder": _in_unit(str(folder)),
        "program": _in_unit(_program()),
        "user": _user(),
    }
    return {
        path.name.removesuffix(SUFFIX): Template(path.read_text("utf-8")).substitute(words)
        for path in sorted(TEMPLATES.glob(f"*{SUFFIX}"))
    }


def _program() -> str:
    """Where `fencepost` is: beside this interpreter, or on PATH."""
    beside = Path(sys.executable).with_name("fencepost")
    return str(beside) if beside.exists() else shutil.which("fencepost") or "/usr/bin/fencepost"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return str(os.getuid())


def _in_unit(path: str) -> str:
    """As systemd reads it between quotation marks."""
    return path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
