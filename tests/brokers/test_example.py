"""The example of a broker of one's own keeps the contract."""

from examples.broker.test_folder import TestFolderBroker

__all__ = ["TestFolderBroker"]
