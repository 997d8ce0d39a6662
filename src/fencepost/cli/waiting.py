"""Starting before the store is there.

A service is often started together with its database, or restarted while that is away. It waits for as long
as it takes, and says so once for each state, not for each try. What the server refuses for good, such as a
wrong password, is an error of the call and ends the process at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from fencepost.errors import StoreReplaced, StoreUnavailable
from fencepost.telemetry.logs import Log

T = TypeVar("T")

PAUSE_FIRST_S, PAUSE_MAX_S = 0.25, 5.0

wait_option = click.option(
    "--wait/--no-wait",
    default=True,
    show_default=True,
    help="Wait for a store that cannot be reached yet, or exit with 2.",
)


async def until_reachable(work: Callable[[], Awaitable[T]], wait: bool) -> T:
    """What the work answers, as soon as the stores that it needs do."""
    log, pause_s, told = Log("start"), PAUSE_FIRST_S, ""
    while True:
        try:
            answer = await work()
        except StoreUnavailable as error:
            if not wait or isinstance(error, StoreReplaced):
                raise
            if told != str(error):
                told = str(error)
                log.warning("waiting for the store", why=told)
        else:
            if told:
                log.info("the store is there")
            return answer
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_MAX_S)
