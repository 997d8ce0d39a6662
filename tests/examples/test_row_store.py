"""The example of a store of one's own keeps every contract.

Some minutes of tests on rows that are looked at one by one, so it is part of the proof.
"""

import pytest

from examples.row_store.test_journal import TestJournalStore as _Contracts
from examples.row_store.test_journal import harness

__all__ = ["TestExampleStore", "harness"]

pytestmark = pytest.mark.proof


class TestExampleStore(_Contracts):
    """See `examples/row_store/test_journal.py`."""
