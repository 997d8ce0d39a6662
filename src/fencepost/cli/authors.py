"""Who sits before this terminal."""

from __future__ import annotations

import getpass
import os
import pwd
import socket

from fencepost.core.access import reserved_name
from fencepost.errors import UsageError
from fencepost.model.audit import Author

ACTOR = "FENCEPOST_ACTOR"
NAME_LENGTH_MAX = 200


def this_author(reason: str | None = None) -> Author:
    """Whoever calls a command: by FENCEPOST_ACTOR, or else by login name, from this host. What proves who it
    was is the user that the process runs as, which no variable changes."""
    actor = os.environ.get(ACTOR, "").strip()[:NAME_LENGTH_MAX]
    if refusal := reserved_name(actor):
        raise UsageError(f"{ACTOR} {actor!r}: {refusal}; choose another")
    source = f"cli on {socket.gethostname()}"
    name = actor or _login()
    return Author(_user() if reserved_name(name) else name, source, reason or None, f"os:{_user()}")


def _login() -> str:
    """A container may run under a number that has no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return f"uid {_user()}"


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
