"""A real store with a table of the user's own beside the ledger, and attempts to write from."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.clock import SystemClock
from fencepost.config import Settings
from fencepost.model.identifiers import RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Receipt, RunRecord, RunState
from fencepost.ports.run import Run
from fencepost.ports.store import Store
from fencepost.services.run_context import LedgerRunContext
from fencepost.testing.conformance.builders import BOB, NS, by_hand
from fencepost.wiring import open_store
from tests.transactions.claiming import claim_as
from tests.transactions.drivers import CREATE

IDLE_MAX_S = 5.0


@dataclass
class Ground:
    """One store and its user table `sent`."""

    url: str
    store: Store

    async def claimed(self, key: str = "one", alive_for_s: float = 30.0) -> Claim:
        """A new run, and the first attempt of it."""
        assert all(await self.store.ledger.enqueue(NS, [by_hand(key)]))
        return await claim_as(self.store, alive_for_s=alive_for_s)

    async def superseded(self, claim: Claim) -> Claim:
        """The attempt after one that showed no life; `claim` must have been granted for no time."""
        rescue = Rescue(claim.ticket, RunState.READY, "silent")
        assert list(await self.store.ledger.rescue([rescue])) == [Receipt.ACCEPTED]
        return await claim_as(self.store, BOB)

    def run(self, claim: Claim) -> Run:
        """The attempt as its job sees it."""
        return Run(claim, LedgerRunContext(self.store, claim.ticket, IDLE_MAX_S))

    async def state(self, run_key: RunKey) -> RunState:
        return (await self.record(run_key)).state

    async def record(self, run_key: RunKey) -> RunRecord:
        record = await self.store.ledger.get(NS, run_key)
        assert record is not None
        return record

    async def sent(self) -> list[tuple[str, int]]:
        """The user's rows, read by somebody else."""
        if self.url.startswith("sqlite"):
            import apsw

            reader = apsw.Connection(self.url.removeprefix("sqlite:///"))
            found = [
                (str(key), int(fence)) for key, fence in reader.execute("SELECT run_key, fence FROM sent")
            ]
            reader.close()
            return found
        import asyncpg

        connection = await asyncpg.connect(self.url)
        rows = await connection.fetch("SELECT run_key, fence FROM sent")
        await connection.close()
        return [(one["run_key"], one["fence"]) for one in rows]


async def open_ground(url: str) -> Ground:
    """A store with the user's table."""
    store = await open_store(Settings(store=url), SystemClock())
    if url.startswith("sqlite"):
        import apsw

        maker = apsw.Connection(url.removeprefix("sqlite:///"))
        maker.execute(CREATE)
        maker.close()
    else:
        import asyncpg

        connection = await asyncpg.connect(url)
        await connection.execute(CREATE)
        await connection.close()
    return Ground(url, store)
