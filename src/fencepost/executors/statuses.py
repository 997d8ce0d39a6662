"""How a process ended, in words."""

from __future__ import annotations

import signal


def how_it_ended(status: int) -> str:
    """The words for an exit status, negative for a signal."""
    return f"exit {status}" if status >= 0 else f"killed by {_signal_name(-status)}"


def _signal_name(number: int) -> str:
    """Real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
