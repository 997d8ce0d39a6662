"""What other schedulers keep, read as text and written as ours: nothing is opened, and nothing is run."""
