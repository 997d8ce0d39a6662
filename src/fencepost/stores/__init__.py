"""The stores, and what their dialects share: named queries, statements on rows, and migrations."""
