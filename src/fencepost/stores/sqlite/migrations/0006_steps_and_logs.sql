-- What a run leaves behind while it works: recorded steps, the lines of its log, what it is at and when it last said so.

ALTER TABLE runs ADD COLUMN note TEXT;
ALTER TABLE runs ADD COLUMN progress_at INTEGER;

-- Of the run, not of the attempt that made it.
CREATE TABLE steps (
    namespace   TEXT NOT NULL,
    run_key     TEXT NOT NULL,
    name        TEXT NOT NULL,
    result      TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, run_key, name)
) STRICT;

CREATE TABLE run_logs (
    namespace  TEXT NOT NULL,
    run_key    TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    text       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (namespace, run_key, attempt, number)
) STRICT;
