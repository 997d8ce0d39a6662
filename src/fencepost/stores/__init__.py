"""The stores, and what their dialects share: named queries, rows, and the carrying out of verdicts."""
