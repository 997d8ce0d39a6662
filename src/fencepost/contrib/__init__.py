"""Fencepost inside other frameworks. Each imports only its own, and says so where that is not installed."""
