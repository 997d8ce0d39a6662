"""What child processes are given to do: where they can import it from."""

from __future__ import annotations

import time


def burn(seconds: float) -> int:
    """Keep one core busy for so long."""
    rounds, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        rounds += sum(range(1_000)) > 0
    return rounds
