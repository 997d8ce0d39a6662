-- What was told of runs that went wrong, and of missed ticks; who is told; and the states that are wrong now. Nothing that was
-- there before is told.
ALTER TABLE runs ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_untold ON runs (namespace, state, finished_at) WHERE state IN ('dead', 'missed') AND NOT told;
ALTER TABLE missed_ranges ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;
CREATE INDEX missed_ranges_untold ON missed_ranges (namespace) WHERE untold > 0;
CREATE TABLE notify_targets (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    definition TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT;
CREATE TABLE notify_events (
    namespace TEXT NOT NULL,
    event     TEXT NOT NULL,
    since     INTEGER NOT NULL,
    first_at  INTEGER,
    PRIMARY KEY (namespace, event)
) STRICT;
CREATE TABLE alarms (
    namespace   TEXT NOT NULL,
    event       TEXT NOT NULL,
    subject     TEXT NOT NULL,
    job         TEXT,
    schedule_id TEXT,
    words       TEXT NOT NULL,
    told        INTEGER NOT NULL DEFAULT 0,
    since       INTEGER NOT NULL,
    ended_at    INTEGER,
    PRIMARY KEY (namespace, event, subject)
) STRICT;
