"""What the calls of workers outside work with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from fencepost.model.audit import Author
from fencepost.model.dataclasses import dataclass
from fencepost.services.external_runs import ExternalRuns
from fencepost.web.serving import Caller, Serving


@dataclass(frozen=True)
class Counter:
    """The verbs and the caller of one call of a worker outside."""

    serving: Serving
    caller: Caller
    until_gone: Callable[[Callable[[], None]], AbstractAsyncContextManager[None]]
    """Within it, the function is called as soon as the caller has hung up."""

    @property
    def verbs(self) -> ExternalRuns:
        """The external jobs of the caller's namespace."""
        return self.serving.verbs(self.caller.namespace)

    @property
    def author(self) -> Author:
        """The caller, by the credential that claims and reports."""
        return self.caller.author(None)
