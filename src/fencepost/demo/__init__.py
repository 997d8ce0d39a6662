"""The demo: a small shop whose schedules show what the ledger is for, with some days behind it, a watcher of
its ticks, and an accounting."""

from __future__ import annotations

from fencepost.demo.accounting import Accounting, account
from fencepost.demo.history import write_history
from fencepost.demo.shop import NIGHTLY, build
from fencepost.demo.watching import Watcher

__all__ = ["NIGHTLY", "Accounting", "Watcher", "account", "build", "write_history"]
