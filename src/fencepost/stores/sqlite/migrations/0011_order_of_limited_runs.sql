-- Runs of a limited job that are due at one instant go by their keys: with the key in the index nobody sorts them.
DROP INDEX runs_lined;
DROP INDEX runs_limited;
CREATE INDEX runs_lined ON runs (namespace, job, queue, priority, run_at, run_key) WHERE held = 32;
CREATE INDEX runs_limited ON runs (namespace, job, slot, priority, run_at, run_key) WHERE held = 16;
