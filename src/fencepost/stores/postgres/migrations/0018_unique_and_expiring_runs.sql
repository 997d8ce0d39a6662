-- When a run by hand ends as missed unless it has begun.
ALTER TABLE fencepost.runs ADD COLUMN IF NOT EXISTS expires_at timestamptz;

-- The names by which runs are unique, and the run that took each last. The row is what two callers meet at.
CREATE TABLE IF NOT EXISTS fencepost.unique_runs (
    namespace text COLLATE "C" NOT NULL,
    job       text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    run_key   text COLLATE "C" NOT NULL,
    taken_at  timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    PRIMARY KEY (namespace, job, name)
);
CREATE INDEX IF NOT EXISTS unique_runs_by_run ON fencepost.unique_runs (namespace, run_key);

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_expiring ON fencepost.runs (expires_at)
    WHERE expires_at IS NOT NULL AND state IN ('planned', 'ready') AND begun_at IS NULL;
