-- Policies and operations: where a run comes from, what holds it, gates, freezes, backfills, ranges of missed
-- ticks, and the log of what people did.

ALTER TABLE fencepost.runs
    ADD COLUMN origin      text NOT NULL DEFAULT 'live',
    ADD COLUMN held        smallint NOT NULL DEFAULT 0,
    ADD COLUMN met         text COLLATE "C",
    ADD COLUMN begun_at    timestamptz,
    ADD COLUMN spent       integer NOT NULL DEFAULT 0,
    ADD COLUMN backfill_id bigint,
    DROP CONSTRAINT runs_started_have_a_fence,
    ADD CONSTRAINT runs_fenced_were_started CHECK (fence = 0 OR attempt > 0);

DROP INDEX fencepost.runs_due_direct;
DROP INDEX fencepost.runs_due_ticks;
DROP INDEX fencepost.runs_open;
CREATE INDEX runs_due_direct ON fencepost.runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0;
CREATE INDEX runs_due_ticks ON fencepost.runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0;
CREATE INDEX runs_open ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
        AND origin IN ('live', 'manual');
CREATE INDEX runs_behind ON fencepost.runs (namespace, schedule_id, fire_time, run_at, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
        AND origin IN ('catch_up', 'backfill', 'replay');
CREATE INDEX runs_parked ON fencepost.runs (namespace, schedule_id, fire_time) WHERE held = 8;
CREATE INDEX runs_held ON fencepost.runs (namespace, fire_time) WHERE held <> 0;
CREATE INDEX runs_caught_up ON fencepost.runs (namespace, schedule_id, finished_at)
    WHERE origin = 'catch_up' AND fence > 0 AND finished_at IS NOT NULL;
CREATE INDEX runs_of_backfill ON fencepost.runs (backfill_id, state, run_at)
    WHERE backfill_id IS NOT NULL;
CREATE INDEX runs_dead ON fencepost.runs (namespace, fire_time) WHERE state = 'dead';

-- Every run has a version: only a query that says so can use this index. A server that knows nothing of the table
-- yet finds all indexes equally cheap, and must not walk this one for the runs of one schedule.
DROP INDEX fencepost.runs_by_time;
CREATE INDEX runs_by_time ON fencepost.runs (namespace, fire_time) WHERE version >= 0;

ALTER TABLE fencepost.schedules ADD COLUMN frozen boolean NOT NULL DEFAULT false;
ALTER TABLE fencepost.cursors
    ADD COLUMN frozen  boolean NOT NULL DEFAULT false,
    ADD COLUMN touched integer NOT NULL DEFAULT 0;

-- A gate that was never closed has no row. `let_through` is the newest fire time that was released when it
-- was last opened.
CREATE TABLE fencepost.gates (
    namespace   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    closed_at   timestamptz,
    reason      text,
    opened_at   timestamptz,
    let_through timestamptz,
    PRIMARY KEY (namespace, schedule_id)
);

CREATE TABLE fencepost.freezes (
    namespace text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL CHECK (kind IN ('all', 'label', 'schedule')),
    value     text COLLATE "C" NOT NULL,
    since     timestamptz NOT NULL,
    author    text NOT NULL,
    source    text NOT NULL,
    reason    text,
    PRIMARY KEY (namespace, kind, value)
);

CREATE TABLE fencepost.backfills (
    backfill_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace      text COLLATE "C" NOT NULL,
    schedule_id    text COLLATE "C" NOT NULL,
    since          timestamptz NOT NULL,
    until          timestamptz NOT NULL,
    mode           text NOT NULL CHECK (mode IN ('missing', 'missed', 'all')),
    at_once_max    integer NOT NULL,
    every_s        double precision NOT NULL,
    state          text NOT NULL CHECK (state IN ('active', 'filled', 'cancelled')),
    filled_through timestamptz NOT NULL,
    next_run_at    timestamptz NOT NULL,
    created_at     timestamptz NOT NULL
);

CREATE INDEX backfills_by_namespace ON fencepost.backfills (namespace, backfill_id);
CREATE INDEX backfills_active ON fencepost.backfills (backfill_id) WHERE state = 'active';

-- `through` is where the cursor stood after the last of its ticks: a range that ends there is gone on with.
CREATE TABLE fencepost.missed_ranges (
    namespace   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    version     integer NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    through     timestamptz NOT NULL,
    ticks       bigint NOT NULL,
    reason      text NOT NULL,
    PRIMARY KEY (namespace, schedule_id, version, first_at)
);

CREATE TABLE fencepost.audit_log (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL,
    author    text NOT NULL,
    source    text NOT NULL,
    reason    text,
    action    text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    before    text NOT NULL,
    after     text NOT NULL
);

CREATE INDEX audit_log_by_number ON fencepost.audit_log (namespace, number);
CREATE INDEX audit_log_by_subject ON fencepost.audit_log (namespace, subject, number);
