"""The MongoDB driver: its URL, its faults, its first connection, and calls that no cancellation harms."""
