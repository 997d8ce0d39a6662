"""Nothing real inside a world: no clock, no dice, no threads but its own. Threads that were there before, as
of the client of a server of another test, are not in the world.

`datetime.now` cannot be taken away; that nobody calls it is the lint's to see."""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

BANNED: list[tuple[Any, str]] = [
    *((time, name) for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep")),
    *((time, name) for name in ("clock_gettime", "clock_gettime_ns", "localtime", "gmtime")),
    *(
        (random, name)
        for name in ("random", "choice", "randint", "randrange", "uniform", "shuffle", "sample")
    ),
    (os, "urandom"),
    (secrets, "token_hex"),
    (secrets, "token_bytes"),
    (uuid, "uuid4"),
    (uuid, "uuid1"),
    (threading.Thread, "start"),
]


class NotInThisWorld(AssertionError):
    """Somebody reached for real time, real chance or a real thread."""


@contextmanager
def nothing_real() -> Iterator[None]:
    """Whoever reaches for something real meanwhile is told at once."""
    with ExitStack() as stack:
        for owner, name in BANNED:
            stack.enter_context(patch.object(owner, name, _refuse(owner, name)))
        yield


def _refuse(owner: Any, name: str) -> Callable[..., Any]:
    world, real = threading.get_ident(), getattr(owner, name)

    def refuse(*given: Any, **options: Any) -> Any:
        if threading.get_ident() != world:
            return real(*given, **options)
        raise NotInThisWorld(f"{owner.__name__}.{name} was called inside a simulated world")

    return refuse
