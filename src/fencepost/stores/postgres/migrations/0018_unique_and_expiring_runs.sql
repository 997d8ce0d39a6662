-- When a run by hand ends as missed unless it has begun.
ALTER TABLE fencepost.runs ADD COLUMN expires_at timestamptz;
CREATE INDEX runs_expiring ON fencepost.runs (expires_at)
    WHERE expires_at IS NOT NULL AND state IN ('planned', 'ready') AND begun_at IS NULL;

-- The names by which runs are unique, and the run that took each last. The row is what two callers meet at.
CREATE TABLE fencepost.unique_runs (
    namespace text COLLATE "C" NOT NULL,
    job       text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    run_key   text COLLATE "C" NOT NULL,
    taken_at  timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    PRIMARY KEY (namespace, job, name)
);
CREATE INDEX unique_runs_by_run ON fencepost.unique_runs (namespace, run_key);
