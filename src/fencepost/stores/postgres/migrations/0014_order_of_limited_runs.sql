-- Runs of a limited job that are due at one instant go by their keys: with the key in the index nobody sorts them.
DROP INDEX IF EXISTS fencepost.runs_lined, fencepost.runs_limited;
CREATE INDEX runs_lined ON fencepost.runs (namespace, job, queue, priority, run_at, run_key) WHERE held = 32;
CREATE INDEX runs_limited ON fencepost.runs (namespace, job, slot, priority, run_at, run_key) WHERE held = 16;
