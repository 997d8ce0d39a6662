-- When a run was first due, once a retry has moved that; when its row was written. Missed ranges and attempts that were taken
-- away are found without a walk through all of them.
ALTER TABLE fencepost.runs ADD COLUMN due_at timestamptz, ADD COLUMN created_at timestamptz;
CREATE INDEX missed_ranges_by_time ON fencepost.missed_ranges (namespace, last_at);
CREATE INDEX attempts_taken_away ON fencepost.attempts (namespace, finished_at) WHERE outcome IN ('lost', 'terminated');
