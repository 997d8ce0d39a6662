-- When a run was first due, once a retry has moved that; when its row was written. Missed ranges and attempts that were taken
-- away are found without a walk through all of them.
ALTER TABLE runs ADD COLUMN due_at INTEGER;
ALTER TABLE runs ADD COLUMN created_at INTEGER;
CREATE INDEX missed_ranges_by_time ON missed_ranges (namespace, last_at);
CREATE INDEX attempts_taken_away ON attempts (namespace, finished_at) WHERE outcome IN ('lost', 'terminated');
