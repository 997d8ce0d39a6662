"""What several adapters of one server have in common."""
