-- Runs of a limited job that are due at one instant go by their keys: with the key in the index nobody sorts them.

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_lined_by_key
    ON fencepost.runs (namespace, job, queue, priority, run_at, run_key) WHERE held = 32;
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_limited_by_key
    ON fencepost.runs (namespace, job, slot, priority, run_at, run_key) WHERE held = 16;
