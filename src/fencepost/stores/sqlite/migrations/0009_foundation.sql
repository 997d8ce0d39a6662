-- The schema as of 9. Times are whole microseconds since 1970 in UTC. Indexes that may look equally cheap to SQLite stand
-- in the order in which older databases got them: it then takes the same one in old and new databases, the last.

{tables}

-- The incarnation of the ledger: a restored ledger gets the next one.
INSERT INTO meta (name, value) VALUES ('incarnation', '1-' || lower(hex(randomblob(8))));

-- One strictly rising sequence for the fences of all attempts.
CREATE TABLE sequences (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

INSERT INTO sequences (name, value) VALUES ('fences', 0);

-- All of one schedule, and all by time.
CREATE INDEX runs_by_schedule ON runs (namespace, schedule_id, fire_time) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_by_time ON runs (namespace, fire_time);

-- Ticks that were never started: they are judged together with their schedule.
CREATE INDEX runs_due_ticks ON runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0;

-- Ticks behind live work, apart from those that are live, because there may be many.
CREATE INDEX runs_behind ON runs (namespace, schedule_id, fire_time, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
      AND origin NOT IN ('live', 'manual');

-- Every end of a run asks what is parked and nothing else: what a freeze or a gate holds is not in the way.
CREATE INDEX runs_held ON runs (namespace, schedule_id, fire_time) WHERE held <> 0;
CREATE INDEX runs_parked ON runs (namespace, schedule_id, fire_time) WHERE held = 8;

CREATE INDEX runs_of_backfill ON runs (backfill_id) WHERE backfill_id IS NOT NULL;

{run_indexes}

CREATE INDEX schedules_by_change ON schedules (namespace, updated_at);

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

-- `ttl_us` is the term of the last grant or renewal: an expiry further ahead is from the future, because the clock was
-- set back, by `set_back_us`.
CREATE TABLE leases (
    shard       INTEGER PRIMARY KEY,
    holder      TEXT,
    epoch       INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    ttl_us      INTEGER,
    set_back_us INTEGER NOT NULL DEFAULT 0
) STRICT;
