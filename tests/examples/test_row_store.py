"""The example of a store of one's own keeps every contract."""

from examples.row_store.test_journal import TestJournalStore as _Contracts
from examples.row_store.test_journal import harness

__all__ = ["TestExampleStore", "harness"]


class TestExampleStore(_Contracts):
    """See `examples/row_store/test_journal.py`."""
