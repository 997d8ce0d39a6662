"""Another process on the same SQLite file: `python -m tests.integration.sqlite_peer ROLE URL`."""

import asyncio
import sys

import apsw

from fencepost.clock import SystemClock
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, NodeId, RunKey
from fencepost.model.run import NewRun, Outcome, RunState
from fencepost.ports.signals import Topic
from fencepost.stores.sqlite import SqliteStore, open_store
from fencepost.stores.sqlite.ledger import write_runs

JOB = JobName("report")
BATCH = 7


def by_hand(key: str) -> NewRun:
    """A run of the job that all peers know."""
    return NewRun(RunKey(f"{JOB}#{key}"), JOB, {}, DEFAULT_QUEUE, 2)


async def drain(store: SqliteStore) -> None:
    """Claim and finish until nothing is due; say what was acknowledged."""
    claim_request = ClaimRequest(NodeId("peer"), (DEFAULT_QUEUE,), (JOB,), 60.0)
    while claims := await store.ledger.claim_direct(claim_request, BATCH):
        receipts = await store.ledger.finish([Outcome(one.ticket, RunState.SUCCEEDED) for one in claims])
        for one, receipt in zip(claims, receipts, strict=True):
            say(f"{one.run_key} {one.fence} {receipt}")


async def enqueue(store: SqliteStore) -> None:
    """Write one run."""
    await store.ledger.enqueue(DEFAULT_NAMESPACE, [by_hand("from-a-peer")])


async def listen(store: SqliteStore) -> None:
    """Wait for one hint."""
    heard = asyncio.Event()
    await store.signals.listen(Topic.RUNS, heard.set)
    say("listening")
    await heard.wait()
    say("heard")


async def hang(store: SqliteStore) -> None:
    """Write within a transaction and never come to its end."""

    def work(connection: apsw.Connection, now: StoreTime) -> None:
        write_runs(DEFAULT_NAMESPACE, [by_hand("half-written")], connection, now)
        say("written")
        sys.stdin.read()

    await store._database.transact(work)


def say(line: str) -> None:
    """Tell the parent, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(role: str, url: str) -> None:
    """Play one role and leave."""
    store = await open_store(url, clock=SystemClock())
    await {"drain": drain, "enqueue": enqueue, "listen": listen, "hang": hang}[role](store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
