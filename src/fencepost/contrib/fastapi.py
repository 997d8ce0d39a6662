"""FastAPI and Starlette: the application's lifespan runs a node beside the web server.

`FastAPI(lifespan=lifespan(jobs))` is all. Each process of the web server is a node of the fleet: several of
them share the work and elect who plans. When the server stops, the node claims nothing more, lets running
work finish within the grace, resigns and leaves.

Nothing of FastAPI is imported here: a lifespan is a function from an application to an async context.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

from fencepost.app import Fencepost
from fencepost.telemetry.logs import Log

State: TypeAlias = Mapping[str, Any]
Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]

STATE = "fencepost"


def lifespan(
    app: Fencepost, *, plans: bool = True, works: bool = True, within: Lifespan | None = None
) -> Callable[[Any], AbstractAsyncContextManager[State]]:
    """The lifespan of a web application that plans, works, or only enqueues.

    `within` is a lifespan of your own: it is entered first and left last, so that what it opens is there for
    as long as jobs run. In a handler, `request.state.fencepost` is the application.
    """

    @asynccontextmanager
    async def run(web: Any) -> AsyncIterator[State]:
        async with AsyncExitStack() as opened:
            state = None if within is None else await opened.enter_async_context(within(web))
            await opened.enter_async_context(app)
            if plans or works:
                await opened.enter_async_context(_node(app, plans, works))
            yield {**(state or {}), STATE: app}

    return run


@asynccontextmanager
async def _node(app: Fencepost, plans: bool, works: bool) -> AsyncIterator[None]:
    node = await app.node(plans=plans, works=works)
    stop = asyncio.Event()
    task = asyncio.create_task(node.run(stop))
    task.add_done_callback(lambda done: None if stop.is_set() else _end_the_server(done))
    try:
        yield
    finally:
        stop.set()
        await task


def _end_the_server(node: asyncio.Task[None]) -> None:
    """Stop a server whose node has ended: it would answer and look healthy; its supervisor starts another."""
    error = None if node.cancelled() else node.exception()
    Log("contrib").error("the node has ended by itself; the web server is asked to stop", error=repr(error))
    os.kill(os.getpid(), signal.SIGTERM)
