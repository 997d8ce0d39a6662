"""What a form does: one way for all of them, from fields to an operation and back to a page."""
