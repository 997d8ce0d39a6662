"""What child processes of the tests are given to do: where they can import it from."""

from __future__ import annotations

import re


def hang_in_c() -> bool:
    """Backtracks for longer than anybody lives, in one call that never lets another thread of its process
    run."""
    return re.match(r"(a+)+$", "a" * 60 + "b") is not None
