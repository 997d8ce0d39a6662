"""`fencepost.toml`: an application without Python."""

from __future__ import annotations

from fencepost.manifest.file import load

__all__ = ["load"]
