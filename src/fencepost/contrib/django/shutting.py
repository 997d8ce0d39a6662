"""Keeping Django off the ledger's own SQLite file in a process that has the ledger open.

Django's SQLite is another copy of the library than the ledger's. Two copies in one process do not see each
other's locks on one file, and when one closes it, the other's locks are gone: what one commits the other may
lose. So a process that serves the ledger has no such connection, and whoever asks for one is told why.
"""

from __future__ import annotations

from django.db import connections

from fencepost.app import Fencepost
from fencepost.contrib.django.configuration import is_ledger

CLOSED = "fencepost.contrib.django.closed"


def shut_the_ledgers_file(app: Fencepost) -> None:
    """Let nobody in this process open the ledger's file by Django."""
    for alias in connections:
        connection = connections[alias]
        if not is_ledger(app, connection):
            continue
        connection.close()
        del connections[alias]
        connections.settings[alias]["ENGINE"] = CLOSED
