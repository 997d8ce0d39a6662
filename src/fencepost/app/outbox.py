"""An outbox: messages that leave if and only if the transaction that wrote them is committed.

There is no second queue. A message is a run of the outbox's job, enqueued in the writer's own transaction;
workers deliver it as they do any other work, with its retries, its timeout and its place in the ledger. The
run's key is the message's name: the receiver is told it with every attempt, and written twice it is there
once.

Who is authoritative: the ledger for what was written, the receiver for what was done. A delivery whose answer
was lost is made again under the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Protocol
from urllib.parse import quote

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.identifiers import KEY_LENGTH_MAX, JobName, RunKey
from fencepost.ports.executor import Job
from fencepost.ports.run import Run

NAME_LENGTH_MAX = 200
TAKEN = ("at", "connection", "key")
"""Words of `app.enqueue` itself."""
_KEPT = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "#%/")


class OutboxEnqueuer(Protocol):
    """What an outbox needs of its application."""

    @property
    def jobs(self) -> Mapping[JobName, Job]: ...

    async def enqueue(
        self, job: str, /, *, key: str | None, connection: object, **payload: Any
    ) -> RunKey: ...

    def enqueue_in(self, connection: object, job: str, /, *, key: str | None, **payload: Any) -> RunKey: ...


class Outbox:
    """Messages of one kind; made by `app.outbox(name, deliver)`."""

    def __init__(self, app: OutboxEnqueuer, name: str, deliver: Callable[..., Any]) -> None:
        self.name = JobName(name)
        self._app = app
        self._parameter = _parameter(app, self.name, deliver)

    async def put(
        self,
        message: Any,
        *,
        connection: object,
        key: str | None = None,
        run: Run | None = None,
        name: str | None = None,
    ) -> RunKey:
        """Write a message in the caller's transaction; returns the key under which it will be delivered.

        In a job, say `run` and the message's name within it: a retried attempt that comes here again writes
        nothing new. Elsewhere, `key` does the same for as long as the ledger lives; without it every call is
        another message. A `connection` of None writes it at once, in a transaction of its own.
        """
        chosen = message_key(key, run, name)
        return await self._app.enqueue(
            self.name, key=chosen, connection=connection, **{self._parameter: message}
        )

    def put_in(
        self,
        connection: object,
        message: Any,
        *,
        key: str | None = None,
        run: Run | None = None,
        name: str | None = None,
    ) -> RunKey:
        """The same over a connection that blocks: in a view, a script, a plain job."""
        chosen = message_key(key, run, name)
        return self._app.enqueue_in(connection, self.name, key=chosen, **{self._parameter: message})


def message_key(key: str | None, run: Run | None, name: str | None) -> str | None:
    """The key that a message goes by: given, or made of the run's and of its name in the run."""
    if run is None:
        if name is not None:
            raise UsageError(f"outbox: name {name!r} is a name within a run; add run=run, or say key instead")
        return key
    if key is not None:
        raise UsageError("outbox: expected key, or run and name, not both")
    if not name or len(name) > NAME_LENGTH_MAX:
        raise UsageError('outbox: a message of a run needs a name of its own in it, as in name="receipt"')
    # Only the one slash that parts them is bare, so that no two pairs have the same key.
    derived = "/".join(quote(one.encode("utf-8", "surrogatepass"), safe=_KEPT) for one in (run.key, name))
    return derived if len(derived) <= KEY_LENGTH_MAX else sha256(derived.encode("ascii")).hexdigest()


def _parameter(app: OutboxEnqueuer, name: JobName, deliver: Callable[..., Any]) -> str:
    """What the function calls the message."""
    parameters = app.jobs[name].spec.parameters
    if len(parameters) != 1:
        known = getattr(deliver, "__qualname__", repr(deliver))
        raise InvalidSpec(
            f"outbox {name}: {known} takes {len(parameters)} values; expected one, the message, "
            "after the run if it takes that"
        )
    if parameters[0].name in TAKEN:
        raise InvalidSpec(f"outbox {name}: call the message something else than {parameters[0].name}")
    return parameters[0].name
