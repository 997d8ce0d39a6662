-- The schema as of 9. Indexes that may look equally cheap to the server stand in the order in which older databases got
-- them: it then takes the same one in old and new databases.

CREATE SCHEMA fencepost;
SET LOCAL search_path = fencepost;

{tables}

ALTER TABLE fencepost.limits SET (fillfactor = 50);
ALTER TABLE fencepost.cursors SET (fillfactor = 80);
ALTER TABLE fencepost.runs SET (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);
ALTER TABLE fencepost.nodes SET (fillfactor = 50), ADD COLUMN session_key bigint;

-- They let a statement that names its rows by key say "still running" or "not begun" without the state, so that the
-- planner has no reason to walk a partial index instead.
ALTER TABLE fencepost.runs
    ADD CONSTRAINT runs_running_are_alive CHECK ((state = 'running') = (alive_until IS NOT NULL)),
    ADD CONSTRAINT runs_ended_are_finished
        CHECK ((state IN ('planned', 'ready', 'running')) = (finished_at IS NULL)),
    ADD CONSTRAINT runs_fenced_were_started CHECK (fence = 0 OR attempt > 0);

-- The incarnation of the ledger: a restored ledger gets the next one.
INSERT INTO fencepost.meta (name, value)
VALUES ('incarnation', '1-' || replace(gen_random_uuid()::text, '-', ''));

-- Store time has one definition, so that a test can move it for every statement at once.
CREATE FUNCTION fencepost.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT clock_timestamp()';

-- One strictly rising sequence for the fences of all attempts.
CREATE SEQUENCE fencepost.fences AS bigint START 1 CACHE 1;

{run_indexes}

-- Ticks behind live work, apart from those that are live, because there may be many.
CREATE INDEX runs_behind ON fencepost.runs (namespace, schedule_id, fire_time, run_at, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
        AND origin IN ('catch_up', 'backfill', 'replay');

CREATE INDEX runs_of_backfill ON fencepost.runs (backfill_id, state, run_at)
    WHERE backfill_id IS NOT NULL;

-- Indexes over all schedules have a condition that always holds (`version >= 0`, `attempt >= 0`, `epoch >= 0`): only a
-- query that says it can use them. A server without statistics finds all indexes equally cheap, and must not walk these
-- for the runs of one schedule.
CREATE INDEX runs_by_time ON fencepost.runs (namespace, fire_time) WHERE version >= 0;

-- Lists: of one job, and of what is rare.
CREATE INDEX runs_by_job ON fencepost.runs (namespace, job, fire_time) WHERE version >= 0;
CREATE INDEX runs_not_run ON fencepost.runs (namespace, state, fire_time)
    WHERE state IN ('skipped', 'missed', 'cancelled', 'withdrawn');
CREATE INDEX runs_by_error ON fencepost.runs (namespace, fire_time) WHERE error IS NOT NULL;

-- Ticks that were never started are judged under their schedule's lock. Parked ticks are in the order of release.
CREATE INDEX runs_due_ticks ON fencepost.runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0 AND attempt >= 0;
CREATE INDEX runs_by_schedule ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE schedule_id IS NOT NULL AND epoch >= 0;
CREATE INDEX runs_parked ON fencepost.runs (namespace, schedule_id, fire_time, run_key) WHERE held = 8;
CREATE INDEX runs_held ON fencepost.runs (namespace, fire_time) WHERE held <> 0 AND attempt >= 0;
CREATE INDEX runs_by_origin ON fencepost.runs (namespace, origin, fire_time)
    WHERE origin <> 'live' AND attempt >= 0;

CREATE INDEX schedules_by_change ON fencepost.schedules (namespace, updated_at) WHERE version >= 0;
CREATE INDEX tokens_over ON fencepost.tokens ((least(expires_at, revoked_at)));
CREATE INDEX sessions_over ON fencepost.sessions ((least(expires_at, ended_at)));

-- Of the run, not of the attempt that made it.
CREATE TABLE fencepost.steps (
    namespace   text COLLATE "C" NOT NULL,
    run_key     text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    result      text NOT NULL,
    attempt     integer NOT NULL,
    recorded_at timestamptz NOT NULL,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (namespace, run_key, name)
);

-- `ttl_s` is the term of the last grant or renewal: an expiry further ahead is from the future, because the clock was
-- set back, by `set_back_s`. A session key counts only for the grant that it was left with.
CREATE TABLE fencepost.leases (
    shard         integer PRIMARY KEY,
    holder        text COLLATE "C",
    epoch         bigint NOT NULL,
    expires_at    timestamptz NOT NULL,
    session_key   bigint,
    session_epoch bigint,
    ttl_s         double precision,
    set_back_s    double precision NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE FUNCTION fencepost.ahead_s(expires_at timestamptz, ttl_s double precision, at timestamptz)
    RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT greatest(coalesce(extract(epoch FROM expires_at - at)::double precision - ttl_s, 0), 0)';

-- A node that listens holds a shared lock of its own on its session's key. Others take the lock only to see whether it
-- is still held; two that look at the same moment may both be told that it is.
CREATE FUNCTION fencepost.is_gone(session_key bigint) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    AS 'SELECT CASE WHEN session_key IS NULL THEN false ELSE pg_try_advisory_xact_lock(session_key) END';
