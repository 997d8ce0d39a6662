"""`python -m fencepost`, and the `fencepost` script."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from fencepost.version import VERSION


def main() -> None:
    """The version is said at once; the command line, which loads click, does all the rest."""
    if sys.argv[1:] != ["--version"] or not _wrote(f"fencepost {VERSION}\n"):
        import_module("fencepost.cli.main").main()


def _wrote(text: str) -> bool:
    """Whether standard output took it; if not, the command line says why."""
    try:
        return os.write(1, text.encode()) > 0
    except OSError:
        return False


if __name__ == "__main__":
    main()
