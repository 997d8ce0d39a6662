-- One index for lists of all runs, of what runs, of what is dead and of every other state. A move of a run writes it at the
-- end of a state, where the index by time alone was written in its middle.

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_by_state ON fencepost.runs (state, namespace, fire_time)
    WHERE version >= 0;
