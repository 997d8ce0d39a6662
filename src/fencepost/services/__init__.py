"""The loops: each gathers, asks the core, carries out and reports."""
