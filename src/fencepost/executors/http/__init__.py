"""HTTP calls as jobs. Needs the extra `http`; what a receiver needs to check a signature does not.

One attempt is one request to a URL that the job states, under the run's key: the target can tell a repeat
by `Idempotency-Key`, and a straggler by `Fencepost-Fence`. The rest of this package is about not being used
as a way into the network that the worker stands in, and about not being kept by a target that never ends.

- Who decides where a call may go: `address_guard`, for every hop, on addresses that are then the only
  ones connected to (`client`). A URL is read by `target`, which knows one way to read it.
- What is sent: `call` has the words; `headers`, `body` and `signing` make it; `secrets` are read each time.
- What comes back is bounded in size by `client`, in time by `executor`, and judged by `answers`.

On failure: a call that got no whole answer may have been carried out all the same. It is tried again under
the same key, or never, as the job's delivery says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.clock import Clock
from fencepost.errors import MissingExtra
from fencepost.executors.http.answers import ReadRetryAfter
from fencepost.executors.http.call import HttpCall, http_call
from fencepost.executors.http.signing import verify

if TYPE_CHECKING:
    from fencepost.executors.http.executor import HttpExecutor

__all__ = ["http_call", "http_executor", "verify"]


def http_executor(call: HttpCall, clock: Clock, read_retry_after: ReadRetryAfter) -> HttpExecutor:
    """The executor of a call, or an error that says what has to be installed for it."""
    try:
        from fencepost.executors.http.executor import HttpExecutor
    except ModuleNotFoundError as error:
        if error.name not in ("aiohttp", "yarl"):
            raise
        raise MissingExtra("jobs by HTTP need a driver; run: pip install 'fencepost[http]'") from None
    return HttpExecutor(call, clock=clock, read_retry_after=read_retry_after)
