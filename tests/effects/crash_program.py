"""The program of the crash tests: a worker that is killed at one point, or one that comes after it.

Nothing in the product knows of these points. Those that are not in a job are put around the ledger, the
executor and the transactions of this process, when it is the one that is to die.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from fencepost import Fencepost, Retry
from fencepost.model.json import JsonObject
from fencepost.ports.executor import Executor, Job
from fencepost.ports.run import Run
from fencepost.ports.store import Store
from tests.effects import crash_jobs
from tests.effects.crash_jobs import COMMAND, FOLDER, STORE, die
from tests.effects.crash_points import Delivery, Kind, Point, points_of

TOKEN = "a-token-of-the-crash-tests-with-32-characters"
RETRY = Retry(5, "50ms", "100ms")
SILENT_S = 0.6
"""How soon the one who died is missed. The one who comes after is patient, however slow the machine is."""
MORTAL: dict[str, Any] = {"heartbeat_every_s": 0.2, "heartbeat_timeout_s": SILENT_S, "reap_every_s": 600}
PATIENT: dict[str, Any] = {"heartbeat_every_s": 1.0, "heartbeat_timeout_s": 60.0, "reap_every_s": 0.1}

FUNCTIONS: dict[Kind, tuple[Callable[..., Any], Any]] = {
    Kind.LOOP: (crash_jobs.work_in_loop, "auto"),
    Kind.THREAD: (crash_jobs.work, "auto"),
    Kind.GUARDED: (crash_jobs.work_under_guard, "auto"),
    Kind.PROCESS: (crash_jobs.work_in_child, "process"),
    Kind.TRANSACTION: (crash_jobs.work_in_transaction, "auto"),
    Kind.OWN_TRANSACTION: (crash_jobs.work_in_own_transaction, "auto"),
    Kind.BLOCKING_TRANSACTION: (crash_jobs.work_in_blocking_transaction, "auto"),
}


def case_name(kind: Kind, delivery: Delivery, point: Point) -> str:
    """The job of a case, and its queue."""
    return f"{kind.name.lower()}.{delivery}.{point}"


def make_app(kind: Kind, url: str, receiver: str = "", **settings: Any) -> Fencepost:
    """Every case of that kind is a job in a queue of its own."""
    app = Fencepost(url, concurrency=12, poll_s=0.2, shards=1, processes=2, token=TOKEN, **settings)
    for delivery in Delivery:
        for point in points_of(kind):
            _add(app, kind, case_name(kind, delivery, point), delivery, receiver)
    return app


def work(kind: Kind, url: str, folder: str, receiver: str, doomed: str = "") -> None:
    """To be forked: work on all cases, or on one until the point that ends it."""
    os.environ |= {FOLDER: folder, STORE: url}
    point = Point(doomed.rpartition(".")[2]) if doomed else None
    app = make_app(kind, url, receiver, **(MORTAL if doomed else PATIENT))
    app.configure(queues=[doomed] if doomed else sorted(app.jobs))

    async def serve() -> None:
        async with app:
            if point is not None:
                _mine(app, await app.open(), point)
            async with app.running(plans=False):
                await asyncio.Event().wait()

    asyncio.run(serve())


def _add(app: Fencepost, kind: Kind, name: str, delivery: Delivery, receiver: str) -> None:
    words: Any = {"queue": name, "delivery": str(delivery), "retry": RETRY}
    if kind is Kind.OUTSIDE:
        app.add_external(name, **words)
    elif kind is Kind.COMMAND:
        environment = {"FOLDER": os.environ.get(FOLDER, ""), "WORKER": str(os.getpid())}
        app.add_command(name, ["/bin/sh", "-c", COMMAND], environment=environment, **words)
    elif kind is Kind.HTTP:
        port = int((receiver or "http://127.0.0.1:80").rpartition(":")[2])
        headers = {"X-Worker": str(os.getpid()), "X-Job": name}
        url = receiver or "http://127.0.0.1:80"
        app.add_http(name, url, headers=headers, allow_private=True, ports=[port], **words)
    else:
        function, executor = FUNCTIONS[kind]
        app.job(name, executor=executor, **words)(function)


def _mine(app: Fencepost, store: Store, point: Point) -> None:
    """Lay the charge."""
    _mine_ledger(store, point)
    _mine_transactions(store, point)
    if point is Point.BEFORE_START:
        for name, job in app.jobs.items():
            app.jobs[name] = Job(job.spec, Unstarted(job.executor))


class Unstarted:
    """An executor whose worker does not live to see it begin."""

    def __init__(self, inner: Executor) -> None:
        self.stoppable = inner.stoppable

    def check(self, payload: JsonObject) -> None: ...

    async def execute(self, run: Run) -> str | None:
        die()
        return None


def _mine_ledger(store: Store, point: Point) -> None:
    ledger: Any = store.ledger
    claim, finish = ledger.claim_direct, ledger.finish

    async def claim_and_die(*arguments: Any) -> Any:
        """Asked when something is due, and for nothing else."""
        if point is Point.BEFORE_CLAIM:
            die()
        claims = await claim(*arguments)
        if claims:
            die()
        return claims

    if point in (Point.BEFORE_CLAIM, Point.CLAIM_WRITTEN):
        ledger.claim_direct = claim_and_die
    if point in (Point.BEFORE_REPORT, Point.REPORT_WRITTEN):
        ledger.finish = _dying(finish, before=point is Point.BEFORE_REPORT)


def _dying(call: Callable[..., Awaitable[Any]], *, before: bool) -> Callable[..., Awaitable[Any]]:
    async def dying(*arguments: Any) -> Any:
        if before:
            die()
        answer = await call(*arguments)
        die()
        return answer

    return dying


def _mine_transactions(store: Store, point: Point) -> None:
    transactions: Any = store.transactions
    begin = transactions.begin

    @asynccontextmanager
    async def begin_and_die(*arguments: Any, **named: Any) -> AsyncIterator[Any]:
        async with begin(*arguments, **named) as transaction:
            yield transaction
        die()

    if point is Point.AFTER_COMMIT:
        transactions.begin = begin_and_die
    if point is Point.BEFORE_COMMIT:
        _mine_markers()


def _mine_markers() -> None:
    """The marker of `run.transaction()` is its last write."""
    from fencepost.stores.borrowed.store import BorrowedMongo, BorrowedPostgres
    from fencepost.stores.sqlite import reports, transactions

    def finish(*arguments: Any) -> Any:
        reports.finish(*arguments)
        die()

    async def complete(self: Any, *arguments: Any, **options: Any) -> None:
        await super(BorrowedPostgres, self).complete(*arguments, **options)
        die()

    complete_on_mongodb = BorrowedMongo.complete

    async def complete_there(self: Any, *arguments: Any, **options: Any) -> None:
        await complete_on_mongodb(self, *arguments, **options)
        die()

    patch.object(transactions, "reports", SimpleNamespace(finish=finish)).start()
    patch.object(BorrowedPostgres, "complete", complete).start()
    patch.object(BorrowedMongo, "complete", complete_there).start()


def serve_web(url: str, folder: str, bind: str, mortal: bool) -> None:
    """To be forked: what workers outside talk to."""
    from fencepost.cli.web import web_beside

    os.environ |= {FOLDER: folder, STORE: url}
    app = make_app(Kind.OUTSIDE, url, **(MORTAL if mortal else PATIENT))

    async def serve() -> None:
        stop = asyncio.Event()
        async with app:
            node = await app.node(plans=False, works=False)
            node.also(web_beside(app, bind, stop))
            await node.run(stop)

    asyncio.run(serve())


def work_outside(address: str, folder: str, jobs: Sequence[str], doomed: str = "") -> None:
    """To be forked: a worker that knows nothing but the protocol."""
    from tests.effects.outside import Outside

    os.environ[FOLDER] = folder
    Outside(address, TOKEN, list(jobs), Point(doomed.rpartition(".")[2]) if doomed else None).serve()
