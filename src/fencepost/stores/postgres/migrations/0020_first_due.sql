-- When a run was first due, once a retry has moved that; when its row was written. Missed ranges and attempts that were taken
-- away are found without a walk through all of them.
ALTER TABLE fencepost.runs
    ADD COLUMN IF NOT EXISTS due_at timestamptz,
    ADD COLUMN IF NOT EXISTS created_at timestamptz;

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS missed_ranges_by_time
    ON fencepost.missed_ranges (namespace, last_at);
CREATE INDEX CONCURRENTLY IF NOT EXISTS attempts_taken_away
    ON fencepost.attempts (namespace, finished_at) WHERE outcome IN ('lost', 'terminated');
