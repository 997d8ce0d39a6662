"""Who sits before this terminal."""

from __future__ import annotations

from fencepost.model.audit import Author

ACTOR = "FENCEPOST_ACTOR"
NAME_LENGTH_MAX = 200


def this_author(reason: str | None = None) -> Author:
    """Whoever calls a command: by FENCEPOST_ACTOR, or else by login name, from this host."""
    import os
    import socket

    name = os.environ.get(ACTOR, "").strip() or _login()
    return Author(name[:NAME_LENGTH_MAX], f"cli on {socket.gethostname()}", reason or None)


def _login() -> str:
    """A container may run under a number that has no name."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"uid {os.getuid()}"
