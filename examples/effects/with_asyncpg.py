"""A job's own transaction on PostgreSQL by asyncpg: the booking and the run's success are one commit.

In this folder: `FENCEPOST_STORE=postgresql://… fencepost run with_asyncpg:app`.
"""

import asyncpg

from fencepost import Fencepost, Run

app = Fencepost()
CREATE = "create table if not exists bookings (account text, amount bigint, run_key text primary key)"
INSERT = "insert into bookings (account, amount, run_key) values ($1, $2, $3)"


@app.job()
async def book(run: Run, account: str, amount: int) -> None:
    connection = await asyncpg.connect(app.settings.store)
    try:
        async with connection.transaction():
            await run.complete_in(connection)
            await connection.execute(CREATE)
            await connection.execute(INSERT, account, amount, run.key)
    finally:
        await connection.close()
