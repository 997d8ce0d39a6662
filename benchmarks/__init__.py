"""Speed, measured against the raw limit of the same store in the same run."""
