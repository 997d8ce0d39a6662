"""The store over a connection that the caller lends: its writes are part of the caller's own transaction.

`recognition.py` says what was handed over and whether it can hold writes together; `postgres.py`, `sqlite.py`
and `mongodb.py` make of it what the parts of the stores call a database. The parts are the ordinary ones:
what an enqueue or a completion does is said once, for all.
"""

from fencepost.stores.borrowed.store import Borrowed, borrow

__all__ = ["Borrowed", "borrow"]
