"""The stores, and what their dialects share: named queries, rows, specs, and the carrying out of verdicts."""
