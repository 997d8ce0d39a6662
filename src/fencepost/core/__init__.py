"""What should happen: pure functions and one table. No clock, no dice, no I/O."""
