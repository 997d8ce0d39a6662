"""What a job can reach of the ledger from inside its run: the worker's end of `Run`.

A run that is far from its worker (in another process) has no context; calls that need one say so.

Every call here is made for one attempt and carries its ticket. It changes the ledger only while the attempt
still owns its run, and raises `RunLost` where it does not.

The calls serve two kinds of callers. In the worker's event loop they return something to await; in any other
thread, where a plain function runs, they block and return the answer itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from fencepost.ports.transactions import RunTransaction


class RunContext(Protocol):
    """One attempt's way to the ledger."""

    def transaction(self, *, complete: bool) -> RunTransaction:
        """A transaction on the ledger's own database; see `Run.transaction`."""
        ...

    def complete_in(self, connection: object, result: object) -> Any:
        """Write the success marker through the caller's own connection; see `Run.complete_in`."""
        ...

    def fingerprint(self, effect: str) -> Any:
        """Keep what the effect of the attempt was; see `Run.fingerprint`."""
        ...

    def once(self, name: str, step: Callable[[], Any]) -> Any:
        """A recorded step; see `Run.once`."""
        ...
