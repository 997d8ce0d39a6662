-- The schema as of 9. Indexes of a table stand in the order in which older databases got them: where two look equally
-- cheap, the server then takes the same one in old and new databases.

CREATE SCHEMA fencepost;

CREATE TABLE fencepost.meta (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- The incarnation of the ledger: a restored ledger gets the next one.
INSERT INTO fencepost.meta (name, value)
VALUES ('incarnation', '1-' || replace(gen_random_uuid()::text, '-', ''));

-- Store time has one definition, so that a test can move it for every statement at once.
CREATE FUNCTION fencepost.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT clock_timestamp()';

-- One strictly rising sequence for the fences of all attempts.
CREATE SEQUENCE fencepost.fences AS bigint START 1 CACHE 1;

CREATE TABLE fencepost.jobs (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    spec       text NOT NULL,
    queue      text COLLATE "C" NOT NULL,
    priority   smallint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- A job without limits has no row. `terms` are those of its spec; `paid_until` is how far ahead its starts have
-- used up its rate, and `next_at` when the rate lets the next one start.
CREATE TABLE fencepost.limits (
    namespace   text COLLATE "C" NOT NULL,
    job         text COLLATE "C" NOT NULL,
    terms       text NOT NULL,
    concurrency integer,
    paid_until  timestamptz,
    next_at     timestamptz,
    PRIMARY KEY (namespace, job)
) WITH (fillfactor = 50);

CREATE TABLE fencepost.schedules (
    namespace   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    shard       integer NOT NULL,
    version     integer NOT NULL,
    state       text NOT NULL CHECK (state IN ('active', 'paused', 'removed')),
    spec        text NOT NULL,
    job         text COLLATE "C" NOT NULL,
    queue       text COLLATE "C",
    priority    smallint,
    labels      jsonb NOT NULL DEFAULT '{}',
    code_spec   text,
    code_digest text,
    updated_at  timestamptz NOT NULL,
    frozen      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, schedule_id)
);
CREATE INDEX schedules_by_change ON fencepost.schedules (namespace, updated_at) WHERE version >= 0;

CREATE TABLE fencepost.schedule_versions (
    namespace      text COLLATE "C" NOT NULL,
    schedule_id    text COLLATE "C" NOT NULL,
    version        integer NOT NULL,
    spec           text NOT NULL,
    job            text COLLATE "C" NOT NULL,
    in_force_from  timestamptz NOT NULL,
    in_force_until timestamptz,
    tzdata         text NOT NULL,
    PRIMARY KEY (namespace, schedule_id, version)
);

-- One for each version, apart from the schedule's own row, so that planning and claiming do not wait for each other.
-- `until` is the end of the version's time in force, `tzdata` the zone rules by which it was last planned.
CREATE TABLE fencepost.cursors (
    namespace       text COLLATE "C" NOT NULL,
    schedule_id     text COLLATE "C" NOT NULL,
    shard           integer NOT NULL,
    version         integer NOT NULL,
    planned_through timestamptz NOT NULL,
    until           timestamptz,
    next_fire_at    timestamptz,
    tzdata          text COLLATE "C" NOT NULL DEFAULT '',
    frozen          boolean NOT NULL DEFAULT false,
    touched         integer NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, schedule_id, version)
) WITH (fillfactor = 80);
CREATE INDEX cursors_next ON fencepost.cursors (shard, next_fire_at) WHERE next_fire_at IS NOT NULL;
CREATE INDEX cursors_by_rules ON fencepost.cursors (shard, tzdata)
    WHERE until IS NULL AND next_fire_at IS NOT NULL;

-- The row of a calendar that was removed has no definition; it remembers the revision.
CREATE TABLE fencepost.calendars (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    revision   integer NOT NULL,
    definition text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- The calendars of the latest version of each schedule.
CREATE TABLE fencepost.calendar_uses (
    namespace   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    calendar    text COLLATE "C" NOT NULL,
    revision    integer NOT NULL,
    PRIMARY KEY (namespace, schedule_id, calendar)
);
CREATE INDEX calendar_uses_by_revision
    ON fencepost.calendar_uses (namespace, calendar, revision, schedule_id);

-- `through` is where the cursor stood after the last tick of the range: planning from there extends the range.
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

-- `held` is a set of `model.run.Hold`; `slot` is what a run of a limited job counts for. The constraints let a statement
-- that names its rows by key say "still running" or "not begun" without the state, so that the planner has no reason to
-- walk a partial index instead.
CREATE TABLE fencepost.runs (
    namespace        text COLLATE "C" NOT NULL,
    run_key          text COLLATE "C" NOT NULL,
    schedule_id      text COLLATE "C",
    job              text COLLATE "C" NOT NULL,
    fire_time        timestamptz NOT NULL,
    version          integer NOT NULL DEFAULT 0,
    state            text NOT NULL CHECK (state IN ('planned', 'ready', 'running', 'succeeded', 'dead',
                                                    'skipped', 'missed', 'cancelled', 'withdrawn')),
    reason           text,
    attempt          integer NOT NULL DEFAULT 0,
    fence            bigint NOT NULL DEFAULT 0,
    epoch            bigint NOT NULL DEFAULT 0,
    queue            text COLLATE "C" NOT NULL,
    priority         smallint NOT NULL,
    run_at           timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz,
    alive_until      timestamptz,
    worker           text COLLATE "C",
    error            text,
    progress         text,
    cancel_requested boolean NOT NULL DEFAULT false,
    payload          text,
    stripped         boolean NOT NULL DEFAULT false,
    origin           text NOT NULL DEFAULT 'live',
    held             smallint NOT NULL DEFAULT 0,
    met              text COLLATE "C",
    begun_at         timestamptz,
    spent            integer NOT NULL DEFAULT 0,
    backfill_id      bigint,
    slot             text COLLATE "C",
    note             text,
    progress_at      timestamptz,
    PRIMARY KEY (namespace, run_key),
    CONSTRAINT runs_running_are_alive CHECK ((state = 'running') = (alive_until IS NOT NULL)),
    CONSTRAINT runs_ended_are_finished
        CHECK ((state IN ('planned', 'ready', 'running')) = (finished_at IS NULL)),
    CONSTRAINT runs_fenced_were_started CHECK (fence = 0 OR attempt > 0)
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- Of one schedule: begun and unfinished, the last to finish, the last success.
CREATE INDEX runs_unfinished ON fencepost.runs (namespace, schedule_id)
    WHERE schedule_id IS NOT NULL AND fence > 0 AND state IN ('ready', 'running');
CREATE INDEX runs_finished ON fencepost.runs (namespace, schedule_id, finished_at)
    WHERE schedule_id IS NOT NULL AND fence > 0 AND finished_at IS NOT NULL;
CREATE INDEX runs_succeeded ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE schedule_id IS NOT NULL AND state = 'succeeded';

-- For the reaper: few rows, whatever the size of the ledger. Not by `alive_until`, so that a heartbeat touches no index.
CREATE INDEX runs_running ON fencepost.runs (worker) WHERE state = 'running';

-- For the janitor.
CREATE INDEX runs_ended ON fencepost.runs (finished_at) WHERE finished_at IS NOT NULL AND NOT stripped;

-- Due without a judgement: all but ticks that were never started.
CREATE INDEX runs_due_direct ON fencepost.runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0;

-- What a judgement reads of one schedule: live ticks that were never started, and apart from them, because there may be
-- many, those behind live work; caught-up runs that ended.
CREATE INDEX runs_open ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
        AND origin IN ('live', 'manual');
CREATE INDEX runs_behind ON fencepost.runs (namespace, schedule_id, fire_time, run_at, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
        AND origin IN ('catch_up', 'backfill', 'replay');
CREATE INDEX runs_caught_up ON fencepost.runs (namespace, schedule_id, finished_at)
    WHERE origin = 'catch_up' AND fence > 0 AND finished_at IS NOT NULL;

CREATE INDEX runs_of_backfill ON fencepost.runs (backfill_id, state, run_at)
    WHERE backfill_id IS NOT NULL;
CREATE INDEX runs_dead ON fencepost.runs (namespace, fire_time) WHERE state = 'dead';

-- Indexes over all schedules have a condition that always holds (`version >= 0`, `attempt >= 0`, `epoch >= 0`): only a
-- query that says it can use them. A server without statistics finds all indexes equally cheap, and must not walk these
-- for the runs of one schedule.
CREATE INDEX runs_by_time ON fencepost.runs (namespace, fire_time) WHERE version >= 0;

-- Limited jobs: runs in the queue of their job, runs that wait for a slot, ticks among both, and slots in use.
CREATE INDEX runs_lined ON fencepost.runs (namespace, job, queue, priority, run_at) WHERE held = 32;
CREATE INDEX runs_limited ON fencepost.runs (namespace, job, slot, priority, run_at) WHERE held = 16;
CREATE INDEX runs_limited_ticks ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0;
CREATE INDEX runs_in_slots ON fencepost.runs (namespace, job, slot)
    WHERE slot IS NOT NULL AND state = 'running';

-- Lists: of one job, of what is rare, and of what waits for a person.
CREATE INDEX runs_by_job ON fencepost.runs (namespace, job, fire_time) WHERE version >= 0;
CREATE INDEX runs_not_run ON fencepost.runs (namespace, state, fire_time)
    WHERE state IN ('skipped', 'missed', 'cancelled', 'withdrawn');
CREATE INDEX runs_by_error ON fencepost.runs (namespace, fire_time) WHERE error IS NOT NULL;
CREATE INDEX runs_held_by_somebody ON fencepost.runs (namespace) WHERE held & 7 <> 0;

-- Ticks that were never started are judged under their schedule's lock. Parked ticks are in the order of release.
CREATE INDEX runs_due_ticks ON fencepost.runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0 AND attempt >= 0;
CREATE INDEX runs_by_schedule ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE schedule_id IS NOT NULL AND epoch >= 0;
CREATE INDEX runs_parked ON fencepost.runs (namespace, schedule_id, fire_time, run_key) WHERE held = 8;
CREATE INDEX runs_held ON fencepost.runs (namespace, fire_time) WHERE held <> 0 AND attempt >= 0;
CREATE INDEX runs_by_origin ON fencepost.runs (namespace, origin, fire_time)
    WHERE origin <> 'live' AND attempt >= 0;

CREATE TABLE fencepost.attempts (
    namespace   text COLLATE "C" NOT NULL,
    run_key     text COLLATE "C" NOT NULL,
    attempt     integer NOT NULL,
    fence       bigint NOT NULL,
    worker      text COLLATE "C",
    started_at  timestamptz,
    finished_at timestamptz NOT NULL,
    outcome     text NOT NULL,
    error       text,
    detail      text,
    output      text,
    PRIMARY KEY (namespace, run_key, attempt)
);
CREATE INDEX attempts_by_time ON fencepost.attempts (finished_at);

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

CREATE TABLE fencepost.run_logs (
    namespace  text COLLATE "C" NOT NULL,
    run_key    text COLLATE "C" NOT NULL,
    attempt    integer NOT NULL,
    number     integer NOT NULL,
    first_line bigint NOT NULL,
    lines      integer NOT NULL,
    text       text NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (namespace, run_key, attempt, number)
);

-- A gate that was never closed has no row. `let_through` is the newest fire time that was released when it was last opened.
CREATE TABLE fencepost.gates (
    namespace   text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    closed_at   timestamptz,
    reason      text,
    opened_at   timestamptz,
    let_through timestamptz,
    PRIMARY KEY (namespace, schedule_id)
);
CREATE INDEX gates_closed ON fencepost.gates (namespace) WHERE closed_at IS NOT NULL;

CREATE TABLE fencepost.freezes (
    namespace text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL CHECK (kind IN ('all', 'label', 'queue', 'schedule')),
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

-- What people did, and with which credential.
CREATE TABLE fencepost.audit_log (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace  text COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    author     text NOT NULL,
    source     text NOT NULL,
    reason     text,
    action     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    before     text NOT NULL,
    after      text NOT NULL,
    credential text COLLATE "C"
);
CREATE INDEX audit_log_by_number ON fencepost.audit_log (namespace, number);
CREATE INDEX audit_log_by_subject ON fencepost.audit_log (namespace, subject, number);

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

-- The ledger's own record of epochs and of the grants that it accepted. A plan is written only under a lock on its
-- shard's row here.
CREATE TABLE fencepost.epochs (
    shard       integer PRIMARY KEY,
    epoch       bigint NOT NULL,
    holder      text COLLATE "C",
    lineage     text COLLATE "C" NOT NULL DEFAULT '',
    lease_epoch bigint NOT NULL DEFAULT 0,
    since       timestamptz,
    transitions bigint NOT NULL DEFAULT 0
);

-- Who led which shard when. A term ends when the next one of its shard begins; `until` is set only where the shard was
-- cut away.
CREATE TABLE fencepost.terms (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard   integer NOT NULL,
    epoch   bigint NOT NULL,
    holder  text COLLATE "C" NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    since   timestamptz NOT NULL,
    until   timestamptz,
    UNIQUE (shard, epoch)
);

-- Plans and registrations of stale leaders.
CREATE TABLE fencepost.refusals (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL,
    shard        integer NOT NULL,
    epoch        bigint NOT NULL,
    holder       text COLLATE "C" NOT NULL,
    known_epoch  bigint NOT NULL,
    known_holder text COLLATE "C"
);

CREATE TABLE fencepost.nodes (
    node_id     text COLLATE "C" PRIMARY KEY,
    about       text NOT NULL,
    started_at  timestamptz NOT NULL,
    alive_until timestamptz NOT NULL,
    skew_s      double precision NOT NULL,
    report      text NOT NULL DEFAULT '{}',
    reported_at timestamptz,
    draining    boolean NOT NULL DEFAULT false,
    session_key bigint
) WITH (fillfactor = 50);

-- Of tokens, sessions and sign-in links only digests are kept.
CREATE TABLE fencepost.tokens (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id     text COLLATE "C" NOT NULL UNIQUE,
    digest       text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    role         text COLLATE "C" NOT NULL CHECK (role IN ('worker', 'viewer', 'operator', 'admin')),
    namespace    text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    created_by   text NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    rotated_from text COLLATE "C" UNIQUE
);
CREATE INDEX tokens_by_namespace ON fencepost.tokens (namespace, number);
CREATE INDEX tokens_over ON fencepost.tokens ((least(expires_at, revoked_at)));

CREATE TABLE fencepost.sessions (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id   text COLLATE "C" NOT NULL UNIQUE,
    digest       text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    role         text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    text COLLATE "C" NOT NULL,
    opened_with  text COLLATE "C" NOT NULL,
    rests_on     text COLLATE "C",
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    ended_at     timestamptz
);
CREATE INDEX sessions_by_namespace ON fencepost.sessions (namespace, number);
CREATE INDEX sessions_by_what_they_rest_on ON fencepost.sessions (rests_on);
CREATE INDEX sessions_over ON fencepost.sessions ((least(expires_at, ended_at)));

-- A link is used once: `session_id` is what became of it. It ends with the token, or the setting, that it rests on.
CREATE TABLE fencepost.sign_in_links (
    link_id    text COLLATE "C" PRIMARY KEY,
    digest     text COLLATE "C" NOT NULL,
    name       text NOT NULL,
    role       text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace  text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz NOT NULL,
    session_id text COLLATE "C",
    rests_on   text COLLATE "C"
);
CREATE INDEX sign_in_links_over ON fencepost.sign_in_links (expires_at);

-- Answers to calls with an idempotency key. Until `held_until` the caller that began is waited for.
CREATE TABLE fencepost.answers (
    namespace    text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    fingerprint  text COLLATE "C" NOT NULL,
    asked_at     timestamptz NOT NULL,
    held_until   timestamptz NOT NULL,
    status       integer,
    body         bytea,
    headers      text,
    PRIMARY KEY (namespace, principal_id, key)
);
CREATE INDEX answers_by_age ON fencepost.answers (asked_at);
