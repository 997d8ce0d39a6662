"""What the driver's exceptions mean to the rest of the house.

Anything after which it is not known whether the server did the work, or which says that it would not just
now, is `StoreUnavailable`: the caller asks again. What remains is our own bug and stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from fencepost.errors import FencepostError, InvalidSettings, StoreUnavailable
from fencepost.model.faults import brief
from fencepost.stores.postgres.address import CACHE_PARAMETER, Address

UNKNOWN = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.ActiveSQLTransactionError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
DENIED = (asyncpg.InvalidAuthorizationSpecificationError,)
GRANTS = (
    "as the user who ran fencepost migrate, let the user of the URL in: GRANT USAGE ON SCHEMA fencepost, and "
    "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES and USAGE ON ALL SEQUENCES IN SCHEMA fencepost"
)
CONFIGURED_WRONGLY = (
    asyncpg.ClientConfigurationError,
    asyncpg.CantChangeRuntimeParamError,
    asyncpg.UndefinedObjectError,
    ValueError,
)


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's faults into ours, in the midst of work."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise StoreUnavailable(f"the store refuses: {brief(error)}; {GRANTS}") from error
    except (*UNKNOWN, *DENIED, asyncpg.InvalidCatalogNameError) as error:
        raise StoreUnavailable(f"the store did not answer: {brief(error)}") from error
    except asyncpg.InterfaceError as error:
        if not _is_closed(error):
            raise
        raise StoreUnavailable(f"the store did not answer: {brief(error)}") from error


@contextmanager
def translated_at_open(address: Address) -> Iterator[None]:
    """Turn the driver's faults at the first connection into one line that says the fix."""
    try:
        yield
    except FencepostError as error:
        if isinstance(error.__cause__, asyncpg.InsufficientPrivilegeError):
            raise _without_grants(address, error.__cause__) from error
        raise
    except asyncpg.InsufficientPrivilegeError as error:
        raise _without_grants(address, error) from error
    except asyncpg.InvalidCatalogNameError as error:
        raise InvalidSettings(
            f"store {address.shown}: there is no such database; run: createdb {address.database}"
        ) from error
    except DENIED as error:
        raise InvalidSettings(
            f"store {address.shown}: {brief(error)}; correct the user or the password in the URL"
        ) from error
    except asyncpg.ProtocolViolationError as error:
        raise _refused_by_a_pooler(address, error) from error
    except UNKNOWN as error:
        raise StoreUnavailable(
            f"store {address.shown}: {brief(error)}; is the server running, and is this its address?"
        ) from error
    except CONFIGURED_WRONGLY as error:
        raise InvalidSettings(f"store {address.shown}: {brief(error)}; correct the URL") from error


def _without_grants(address: Address, error: BaseException) -> InvalidSettings:
    return InvalidSettings(f"store {address.shown}: {brief(error)}; {GRANTS}")


def _refused_by_a_pooler(address: Address, error: asyncpg.ProtocolViolationError) -> FencepostError:
    """PgBouncer names a setting of the session that it does not pass on. Its other refusals, such as that of
    a server that it cannot reach, may be over in a moment."""
    told = f"store {address.shown}: {brief(error)}"
    if "startup parameter" not in told:
        return StoreUnavailable(f"{told}; can the pooler reach the server?")
    if address.pooled:
        setting = told.rpartition(" ")[2]
        return InvalidSettings(f"{told}; have the pooler ignore it: ignore_startup_parameters = {setting}")
    return InvalidSettings(f"{told}; behind a pooler add {CACHE_PARAMETER}=0 to the URL's query")


def _is_closed(error: asyncpg.InterfaceError) -> bool:
    """The driver has no class of its own for it; a connection that broke was taken back by its pool."""
    return "clos" in str(error) or "released back" in str(error)
