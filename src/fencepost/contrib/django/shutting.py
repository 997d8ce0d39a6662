"""Keeping Django off the ledger's own SQLite file in a process that has the ledger open.

Django's SQLite is another copy of the library than the ledger's. Two copies in one process do not see each
other's locks on one file. When one closes the file, the other's locks are gone, and its commits may be lost.
So a process that serves the ledger has no such connection, and an attempt to open one gets the reason.
"""

from __future__ import annotations

from django.db import connections

from fencepost.app import Fencepost
from fencepost.contrib.django.configuration import is_ledger

CLOSED = "fencepost.contrib.django.closed"


def shut_the_ledgers_file(app: Fencepost) -> None:
    """Keep all code in this process from opening the ledger's file by Django."""
    for alias in connections:
        connection = connections[alias]
        if not is_ledger(app, connection):
            continue
        connection.close()
        del connections[alias]
        connections.settings[alias]["ENGINE"] = CLOSED
