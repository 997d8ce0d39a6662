-- When a run by hand ends as missed unless it has begun.
ALTER TABLE runs ADD COLUMN expires_at INTEGER;
CREATE INDEX runs_expiring ON runs (expires_at)
    WHERE expires_at IS NOT NULL AND state IN ('planned', 'ready') AND begun_at IS NULL;

-- The names by which runs are unique, and the run that took each last. The row is what two callers meet at.
CREATE TABLE unique_runs (
    namespace TEXT NOT NULL,
    job       TEXT NOT NULL,
    name      TEXT NOT NULL,
    run_key   TEXT NOT NULL,
    taken_at  INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    PRIMARY KEY (namespace, job, name)
) STRICT;
CREATE INDEX unique_runs_by_run ON unique_runs (namespace, run_key);
