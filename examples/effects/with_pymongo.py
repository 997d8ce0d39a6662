"""A job's writes on MongoDB and the run's success are one commit, in the ledger's transaction or in its own.

In this folder: `FENCEPOST_STORE='mongodb://…/shop?replicaSet=rs0' fencepost run with_pymongo:app`.
"""

from pymongo import MongoClient

from fencepost import Fencepost, Run

app = Fencepost()


@app.job()
async def book(run: Run, account: str, amount: int) -> None:
    async with run.transaction() as tx:
        booking = {"_id": run.key, "account": account, "amount": amount}
        await tx.database["bookings"].insert_one(booking, session=tx.session)


@app.job()
def book_later(run: Run, account: str, amount: int) -> None:
    client = MongoClient(app.settings.store)
    with client, client.start_session() as session, session.start_transaction():
        run.complete_in(session)
        booking = {"_id": run.key, "account": account, "amount": amount}
        client.get_default_database()["bookings"].insert_one(booking, session=session)
