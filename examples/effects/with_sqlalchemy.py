"""A job's own session of SQLAlchemy on PostgreSQL: the booking and the run's success are one commit.

In this folder: `SHOP_DATABASE=postgresql+psycopg://… fencepost run with_sqlalchemy:app`.
"""

import os

from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from fencepost import Fencepost, Run
from fencepost.contrib.sqlalchemy import store_url

engine = create_engine(os.environ["SHOP_DATABASE"])
async_engine = create_async_engine(os.environ["SHOP_DATABASE"])
app = Fencepost(store_url(engine))  # the ledger is in the same database


class Base(DeclarativeBase):
    pass


class Booking(Base):
    __tablename__ = "bookings"

    run_key: Mapped[str] = mapped_column(primary_key=True)
    account: Mapped[str]
    amount: Mapped[int]


@app.job()
def book(run: Run, account: str, amount: int) -> None:
    with Session(engine) as session, session.begin():
        run.complete_in(session)
        session.add(Booking(run_key=run.key, account=account, amount=amount))


@app.job()
async def book_later(run: Run, account: str, amount: int) -> None:
    async with AsyncSession(async_engine) as session, session.begin():
        await run.complete_in(session)
        session.add(Booking(run_key=run.key, account=account, amount=amount))


def order(account: str, amount: int) -> str:
    """What a web page would do: its own rows and the run to come are one commit."""
    with Session(engine) as session, session.begin():
        return app.enqueue_in(session, book, account=account, amount=amount)


if __name__ == "__main__":
    Base.metadata.create_all(engine)
    print(order("anna", 5))
