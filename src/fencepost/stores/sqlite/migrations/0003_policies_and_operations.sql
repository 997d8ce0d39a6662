-- Policies and operations: where a run comes from, what holds it, gates, freezes, backfills, ranges of missed
-- ticks, and the log of what people did.

ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT 'live';
ALTER TABLE runs ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN met TEXT;
ALTER TABLE runs ADD COLUMN begun_at INTEGER;
ALTER TABLE runs ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN backfill_id INTEGER;

DROP INDEX runs_due_direct;
DROP INDEX runs_due_ticks;
DROP INDEX runs_open;
CREATE INDEX runs_due_direct ON runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0;
CREATE INDEX runs_due_ticks ON runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0;
CREATE INDEX runs_open ON runs (namespace, schedule_id, fire_time)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
      AND origin IN ('live', 'manual');

-- What comes behind live work may be a great deal: apart, it does not stand between a judge and the live ticks.
CREATE INDEX runs_behind ON runs (namespace, schedule_id, fire_time, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
      AND origin NOT IN ('live', 'manual');

-- Every end of a run asks who is parked and nothing else: mostly nobody, and what a freeze or a gate holds is not
-- in the way.
CREATE INDEX runs_held ON runs (namespace, schedule_id, fire_time) WHERE held <> 0;
CREATE INDEX runs_parked ON runs (namespace, schedule_id, fire_time) WHERE held = 8;

CREATE INDEX runs_of_backfill ON runs (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX runs_dead ON runs (namespace, fire_time) WHERE state = 'dead';
CREATE INDEX runs_caught_up ON runs (namespace, schedule_id, finished_at)
    WHERE origin = 'catch_up' AND fence > 0 AND finished_at IS NOT NULL;

ALTER TABLE schedules ADD COLUMN frozen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursors ADD COLUMN frozen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursors ADD COLUMN touched INTEGER NOT NULL DEFAULT 0;

-- A gate that was never closed has no row. `let_through` is the newest fire time that was released when it
-- was last opened.
CREATE TABLE gates (
    namespace   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    closed_at   INTEGER,
    reason      TEXT,
    opened_at   INTEGER,
    let_through INTEGER,
    PRIMARY KEY (namespace, schedule_id)
) STRICT;

CREATE TABLE freezes (
    namespace TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('all', 'label', 'schedule')),
    value     TEXT NOT NULL,
    since     INTEGER NOT NULL,
    author    TEXT NOT NULL,
    source    TEXT NOT NULL,
    reason    TEXT,
    PRIMARY KEY (namespace, kind, value)
) STRICT;

CREATE TABLE backfills (
    backfill_id    INTEGER PRIMARY KEY,
    namespace      TEXT NOT NULL,
    schedule_id    TEXT NOT NULL,
    since          INTEGER NOT NULL,
    until          INTEGER NOT NULL,
    mode           TEXT NOT NULL CHECK (mode IN ('missing', 'missed', 'all')),
    at_once_max    INTEGER NOT NULL,
    every_s        REAL NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('active', 'filled', 'cancelled')),
    filled_through INTEGER NOT NULL,
    next_run_at    INTEGER NOT NULL,
    created_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX backfills_by_namespace ON backfills (namespace, backfill_id);
CREATE INDEX backfills_active ON backfills (backfill_id) WHERE state = 'active';

-- `through` is where the cursor stood after the last of its ticks: a range that ends there is gone on with.
CREATE TABLE missed_ranges (
    namespace   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    version     INTEGER NOT NULL,
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    through     INTEGER NOT NULL,
    ticks       INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (namespace, schedule_id, version, first_at)
) STRICT;

-- Entries are never removed, so the numbers rise.
CREATE TABLE audit_log (
    number    INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    at        INTEGER NOT NULL,
    author    TEXT NOT NULL,
    source    TEXT NOT NULL,
    reason    TEXT,
    action    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    before    TEXT NOT NULL,
    after     TEXT NOT NULL
) STRICT;

CREATE INDEX audit_log_by_number ON audit_log (namespace, number);
CREATE INDEX audit_log_by_subject ON audit_log (namespace, subject, number);
