"""A table that is not beside the ledger: every write carries the attempt's fence, and a straggler is refused.

`python fenced_upsert.py` plays an attempt that stalls, is given up, and wakes up after its successor.
"""

import sqlite3

from fencepost.errors import StaleFence
from fencepost.guards import fenced_upsert

SET_BALANCE = fenced_upsert("balances", key=("account",), values=("amount",))


def set_balance(other: sqlite3.Connection, account: str, amount: int, fence: int) -> None:
    """In a job, `fence` is `run.fence`."""
    with other:
        values = SET_BALANCE.parameters(fence, account=account, amount=amount)
        written = other.execute(SET_BALANCE.marked, values)
        SET_BALANCE.check(written.rowcount)


if __name__ == "__main__":
    other = sqlite3.connect(":memory:")
    other.execute("create table balances (account text primary key, amount bigint, fence bigint not null)")
    set_balance(other, "anna", 10, fence=4)  # the first attempt; then it stalls
    set_balance(other, "anna", 12, fence=7)  # the run is given to another attempt, which knows better
    try:
        set_balance(other, "anna", 10, fence=4)  # the first one wakes up
    except StaleFence as refusal:
        print(f"refused: {refusal}")
    print("anna has", *other.execute("select amount from balances").fetchone())
