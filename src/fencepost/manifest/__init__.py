"""`fencepost.toml`: an application without Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.app import Fencepost

__all__ = ["load"]


def load(path: str | Path, environment: Mapping[str, str] | None = None) -> Fencepost:
    """The application that a manifest describes; the environment wins over its settings."""
    # A caller that needs only the words of a trigger does not load the application.
    from fencepost.manifest.file import load_file

    return load_file(path, environment)
