"""The command line. Nothing heavy is imported before a command runs, so that `--help` answers at once."""
