"""How work is done: a Python function, or a command."""
