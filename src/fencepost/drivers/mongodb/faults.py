"""What the driver's exceptions mean to the rest of the house.

In the midst of work every fault of the driver is `Unknown`: an operation that failed may have been carried
out. At the start it is one line that says the fix.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pymongo.errors import (
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WriteConcernError,
)

from fencepost.drivers.mongodb.address import Target
from fencepost.errors import FencepostError, InvalidSettings, LeaseStoreUnavailable, StoreUnavailable

DENIED = frozenset({13, 18})
"""Unauthorized and AuthenticationFailed."""

MESSAGE_LENGTH_MAX = 200


@contextmanager
def translated(target: Target) -> Iterator[None]:
    """Turn the driver's faults into ours, where no shard can have an answer of its own."""
    try:
        yield
    except (PyMongoError, TimeoutError) as error:
        raise _unavailable(target, reason(error)) from error


@contextmanager
def translated_at_open(target: Target) -> Iterator[None]:
    """Turn the driver's faults at the first connection into one line that says the fix."""
    try:
        yield
    except FencepostError:
        raise
    except OperationFailure as error:
        raise _refused(target, error) from error
    except (PyMongoError, TimeoutError) as error:
        said = f"{reason(error)}; is the server running, and is this its address?"
        raise _unavailable(target, said) from error


def refused_by_driver(target: Target, error: Exception) -> InvalidSettings:
    """What the driver says of a URL before it has gone anywhere."""
    return target.address.refuse(f"{reason(error)}; correct the URL")


def reason(error: BaseException) -> str:
    """What an exception says, on one line and without the driver's long inventory of its servers."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, WriteConcernError):
        return f"no majority confirmed it: {_first_line(error)}"
    if isinstance(error, ServerSelectionTimeoutError):
        return f"no primary was found: {_first_line(error)}"
    return _first_line(error)


def _unavailable(target: Target, why: str) -> StoreUnavailable:
    what = target.address.what
    kind = LeaseStoreUnavailable if what == "leases" else StoreUnavailable
    return kind(f"{what} {target.address.shown}: {why}")


def _refused(target: Target, error: OperationFailure) -> FencepostError:
    if isinstance(error, WriteConcernError) or error.code not in DENIED:
        return _unavailable(target, reason(error))
    return target.address.refuse(
        f"{reason(error)}; correct the user, password or authSource in the URL, "
        f"or grant the user the role readWrite on the database {target.database}"
    )


def _first_line(error: BaseException) -> str:
    """The driver appends its own limits, what the server sent, and an inventory of what it knows."""
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    for appendix in (" (configured timeouts", ", full error:", ", Timeout:"):
        line = line.partition(appendix)[0]
    return line if len(line) <= MESSAGE_LENGTH_MAX else f"{line[:MESSAGE_LENGTH_MAX]}…"
