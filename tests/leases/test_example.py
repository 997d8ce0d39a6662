"""The example of a lease store of one's own keeps the contract."""

from examples.lease_store.test_folder import (
    TestFolderLeases,
    harness,
    test_what_two_clients_were_told_is_one_life,
)

__all__ = ["TestFolderLeases", "harness", "test_what_two_clients_were_told_is_one_life"]
