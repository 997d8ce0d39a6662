"""How work is done: a Python function, a command, or an HTTP call."""
