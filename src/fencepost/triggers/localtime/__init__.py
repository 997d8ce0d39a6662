"""Local wall time: zones, their changes of the clocks, and what those do to expected times."""
