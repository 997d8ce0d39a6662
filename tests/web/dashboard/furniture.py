"""What else a house has: a closed gate, leaders and those who came too late, credentials, logs, a backfill.

Every text that somebody else could have written is the hostile one.
"""

from __future__ import annotations

from datetime import timedelta

from fencepost.model.access import EVERYWHERE, CredentialKind, NewSession, Role, mint
from fencepost.model.audit import Author
from fencepost.model.backfill import FillMode, NewBackfill
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Epoch, JobName, Lineage, NodeId, RunKey, ScheduleId, Shard
from fencepost.model.job import JobSpec, Parameter, Retry
from fencepost.model.lease import Granted
from fencepost.model.limits import JobLimit
from fencepost.model.run import RunState, Ticket
from fencepost.model.run_log import LogChunk, LogPage
from fencepost.model.tables import GATES
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import credentials
from fencepost.operations.control import Control
from tests.rows import put, runs_of
from tests.services.house import NS, START, House

GATED = ScheduleId("minutely")
TYPED = JobName("typed")


async def furnish(house: House, hostile: str) -> None:
    """All of it."""
    printable = "".join(one for one in hostile if one.isprintable())
    control = Control(house.store, NS, Author(printable, hostile, hostile))
    await _register(house)
    await _lead(house, hostile)
    now = await house.memory.now()
    put(house.memory, GATES, namespace=NS, schedule_id=GATED, closed_at=now, reason=hostile)
    await _log(house, hostile)
    made = await credentials.create(control, printable, Role.ADMIN, NS, None)
    await credentials.revoke(control, made.record.token_id)
    await credentials.create(control, printable, Role.VIEWER, EVERYWHERE, 60.0)
    await credentials.open_link(control, Role.VIEWER, NS, 60.0)
    await _sign_in(house, hostile)
    await _start_backfill(control, StoreTime(START + timedelta(hours=1)))


async def _register(house: House) -> None:
    known = dict(await house.memory.jobs.all(NS))
    typed = JobSpec(
        TYPED,
        retry=Retry(3, deadline="1h", only=("OSError",), never=("ValueError",)),
        at_most_once=True,
        timeout=timedelta(minutes=5),
        progress_deadline=timedelta(minutes=1),
        parameters=(
            Parameter("name", True, "string"),
            Parameter("count", True, "integer"),
            Parameter("dry", False, "boolean"),
            Parameter("tags", False, "array"),
        ),
        limit=JobLimit(concurrency=2, key="name", rate="10/m"),
    )
    await house.memory.jobs.register(NS, [*known.values(), typed])


async def _lead(house: House, hostile: str) -> None:
    epochs = house.memory.epochs
    for epoch, holder in ((1, "first"), (2, hostile), (3, "second")):
        for shard in range(3):
            grant = Granted(Epoch(epoch), Lineage(hostile))
            await epochs.register({Shard(shard): grant}, NodeId(holder))
        house.clock.advance(5)
    await epochs.note_refusal(Shard(1), Epoch(1), NodeId(hostile))


async def _log(house: House, hostile: str) -> None:
    run = next(one for one in runs_of(house.memory) if one.state is RunState.DEAD)
    ticket = Ticket(NS, RunKey(run.run_key), run.attempt, run.fence)
    chunk = LogChunk(1, 0, 2, f"{hostile}\npostgresql://anna:a-secret-of-the-tests@db/shop")
    await house.memory.run_logs.append([LogPage(ticket, (chunk,))])


async def _sign_in(house: House, hostile: str) -> None:
    session = mint(CredentialKind.SESSION, bytes)
    new = NewSession(session.credential_id, session.digest, hostile, Role.VIEWER, NS, "l" + "0" * 16, 3600.0)
    author = Author(hostile, hostile)
    await house.memory.access.open_session(new, by_token=False, author=author, asked_in=NS)


async def _start_backfill(control: Control, until: StoreTime) -> None:
    wanted = NewBackfill(GATED, START, until, FillMode.MISSING, 1, 0.0)
    await backfill_operations.start(control, wanted)
