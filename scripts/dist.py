"""What is released, built and checked: `make dist`.

The wheel and the source archive are built twice and must be the same bytes. The wheel must have every file of
the package that git has, and no other. It is installed with its extra `web` into an empty environment, where
the demo runs. Beside them stand the list of components and SHA256SUMS.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

from fencepost.version import VERSION
from scripts.sbom import sbom

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WHEEL = f"fencepost-{VERSION}-py3-none-any.whl"
ARCHIVE = f"fencepost-{VERSION}.tar.gz"
BINARIES = Path(sys.executable).parent
DEMO = ("demo", "--empty", "--for", "4s", "--bind", "127.0.0.1:0")
INSTALLED_MAX_MB = 150


def build(folder: Path) -> None:
    """The wheel and the source archive, from the files of the revision."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(made_at())}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def made_at() -> int:
    """The time of the revision; SOURCE_DATE_EPOCH where that is given."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))


def package_files() -> set[str]:
    """What git has of the package, as the wheel names it."""
    return {one.removeprefix("src/") for one in _git("ls-files", "src/fencepost").split("\n") if one}


def wheel_faults(wheel: Path) -> Iterator[str]:
    """What the wheel lacks, and what it should not have."""
    with ZipFile(wheel) as opened:
        names = {one for one in opened.namelist() if ".dist-info/" not in one}
        extra = {one.partition(".dist-info/")[2] for one in opened.namelist() if ".dist-info/" in one}
    yield from (f"{one} is missing" for one in sorted(package_files() - names))
    yield from (f"{one} is not a file of the package" for one in sorted(names - package_files()))
    wanted = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    yield from (f"dist-info/{one} is missing" for one in sorted(wanted - extra))


def differing(one: Path, other: Path) -> list[str]:
    """The files that two builds have made differently."""
    names = {path.name for folder in (one, other) for path in folder.iterdir()}
    return sorted(name for name in names if _digest(one / name) != _digest(other / name))


def write_papers(folder: Path) -> None:
    """The list of components and the digests."""
    moment = datetime.fromtimestamp(made_at(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    (folder / f"fencepost-{VERSION}.cdx.json").write_text(sbom(VERSION, moment), "utf-8")
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text("".join(f"{_digest(one)}  {one.name}\n" for one in files), "utf-8")


def try_demo(folder: Path, wheel: Path) -> tuple[float, str]:
    """Install the wheel and its extra `web` into an empty environment, and run the demo.

    The versions are the locked ones. Answers with the size in MB and the last line of the demo."""
    python = folder / "bin" / "python"
    uv = str(BINARIES / "uv")
    lock = ROOT / "requirements-demo.lock"
    _run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
    _run(uv, "pip", "install", "--quiet", "--python", str(python), "--constraint", str(lock), f"{wheel}[web]")
    said = _run(str(folder / "bin" / "fencepost"), *DEMO, cwd=folder)
    return megabytes(folder), said.strip().splitlines()[-1]


def megabytes(folder: Path) -> float:
    """What the files below a folder take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _git(*words: str) -> str:
    return _run("git", *words, cwd=ROOT).strip()


def _run(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Build, check, tell."""
    shutil.rmtree(DIST, ignore_errors=True)
    build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        again, environment = Path(folder, "again"), Path(folder, "environment")
        build(again)
        faults = [*(f"{one} differs" for one in differing(DIST, again)), *wheel_faults(DIST / WHEEL)]
        size, said = try_demo(environment, DIST / WHEEL)
    if size > INSTALLED_MAX_MB:
        faults.append(
            f"an environment of the demo takes {size:.0f} MB, at most {INSTALLED_MAX_MB} are allowed"
        )
    if "lost 0, doubled 0" not in said:
        faults.append(f"the demo ended with: {said}")
    write_papers(DIST)
    return _tell(faults, size, said)


def _tell(faults: Sequence[str], size: float, said: str) -> int:
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>10,} B  {path.relative_to(ROOT)}")
    print(f"the same bytes twice; fencepost[web] takes {size:.0f} MB; its demo: {said}" if not faults else "")
    for one in faults:
        print(f"fault: {one}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
