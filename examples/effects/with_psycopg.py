"""A job's own transaction on PostgreSQL by psycopg: the booking and the run's success are one commit.

In this folder: `FENCEPOST_STORE=postgresql://… fencepost run with_psycopg:app`.
"""

import psycopg

from fencepost import Fencepost, Run

app = Fencepost()
CREATE = "create table if not exists bookings (account text, amount bigint, run_key text primary key)"
INSERT = "insert into bookings (account, amount, run_key) values (%s, %s, %s)"


@app.job()
def book(run: Run, account: str, amount: int) -> None:
    with psycopg.connect(app.settings.store) as connection:  # commits at its end, or rolls back
        run.complete_in(connection)
        connection.execute(CREATE)
        connection.execute(INSERT, (account, amount, run.key))


@app.job()
async def book_later(run: Run, account: str, amount: int) -> None:
    async with await psycopg.AsyncConnection.connect(app.settings.store) as connection:
        await run.complete_in(connection, result={"booked": amount})
        await connection.execute(CREATE)
        await connection.execute(INSERT, (account, amount, run.key))
