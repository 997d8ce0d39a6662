"""Environments with the wheel and exactly what it declares, made without a network: what it needs is linked
from the environment of the tests."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

from scripts.dist import BINARIES
from scripts.sbom import NAME, closure


class Environment:
    """One environment."""

    def __init__(self, folder: Path, wheel: Path, *extras: str) -> None:
        self._binaries = folder / "bin"
        self._folder = folder
        uv = str(BINARIES / "uv")
        subprocess.run([uv, "venv", "--quiet", "--offline", "--python", sys.executable, folder], check=True)
        install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python"]
        subprocess.run([*install, str(self._binaries / "python"), str(wheel)], check=True)
        for name in closure(*extras).keys() - {NAME}:
            self._link(name)

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        return Path(sysconfig.get_path("purelib", vars={"base": str(self._folder)}))

    def _link(self, name: str) -> None:
        found = distribution(name)
        tops = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            target = self.packages / top
            if not target.exists():
                target.symlink_to(Path(str(found.locate_file(top))))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One command of the wheel, in a folder of its own, without the variables of the tests."""
        command = [str(self._binaries / "fencepost"), *words]
        return subprocess.run(
            command,
            cwd=self._folder,
            env={"PATH": "/usr/bin:/bin"},
            check=False,
            capture_output=True,
            text=True,
        )
