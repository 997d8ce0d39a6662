-- The schema as of 9. Times are whole microseconds since 1970 in UTC. Indexes of a table stand in the order in which
-- older databases got them: where two look equally cheap, SQLite then takes the same one in old and new databases.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- The incarnation of the ledger: a restored ledger gets the next one.
INSERT INTO meta (name, value) VALUES ('incarnation', '1-' || lower(hex(randomblob(8))));

-- One strictly rising sequence for the fences of all attempts.
CREATE TABLE sequences (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

INSERT INTO sequences (name, value) VALUES ('fences', 0);

CREATE TABLE jobs (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    spec       TEXT NOT NULL,
    queue      TEXT NOT NULL,
    priority   INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT;

-- A job without limits has no row. `terms` are those of its spec; `paid_until` is how far ahead its starts have used
-- up its rate, and `next_at` when the rate lets the next one start.
CREATE TABLE limits (
    namespace   TEXT NOT NULL,
    job         TEXT NOT NULL,
    terms       TEXT NOT NULL,
    concurrency INTEGER,
    paid_until  INTEGER,
    next_at     INTEGER,
    PRIMARY KEY (namespace, job)
) STRICT;

CREATE TABLE schedules (
    namespace   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    shard       INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('active', 'paused', 'removed')),
    spec        TEXT NOT NULL,
    job         TEXT NOT NULL,
    queue       TEXT,
    priority    INTEGER,
    labels      TEXT NOT NULL DEFAULT '{}',
    code_spec   TEXT,
    code_digest TEXT,
    updated_at  INTEGER NOT NULL,
    frozen      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, schedule_id)
) STRICT;
CREATE INDEX schedules_by_change ON schedules (namespace, updated_at);

CREATE TABLE schedule_versions (
    namespace      TEXT NOT NULL,
    schedule_id    TEXT NOT NULL,
    version        INTEGER NOT NULL,
    spec           TEXT NOT NULL,
    job            TEXT NOT NULL,
    in_force_from  INTEGER NOT NULL,
    in_force_until INTEGER,
    tzdata         TEXT NOT NULL,
    PRIMARY KEY (namespace, schedule_id, version)
) STRICT;

-- One for each version; `until` is the end of its time in force, `tzdata` the zone rules by which it was last planned.
CREATE TABLE cursors (
    namespace       TEXT NOT NULL,
    schedule_id     TEXT NOT NULL,
    shard           INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    planned_through INTEGER NOT NULL,
    next_fire_at    INTEGER,
    until           INTEGER,
    tzdata          TEXT NOT NULL DEFAULT '',
    frozen          INTEGER NOT NULL DEFAULT 0,
    touched         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, schedule_id, version)
) STRICT;
CREATE INDEX cursors_next ON cursors (shard, next_fire_at) WHERE next_fire_at IS NOT NULL;
CREATE INDEX cursors_by_rules ON cursors (shard, tzdata) WHERE until IS NULL AND next_fire_at IS NOT NULL;

-- The row of a calendar that was removed has no definition; it remembers the revision.
CREATE TABLE calendars (
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    definition TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT;

-- The calendars of the latest version of each schedule.
CREATE TABLE calendar_uses (
    namespace   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    calendar    TEXT NOT NULL,
    revision    INTEGER NOT NULL,
    PRIMARY KEY (namespace, schedule_id, calendar)
) STRICT;
CREATE INDEX calendar_uses_by_revision ON calendar_uses (namespace, calendar, revision, schedule_id);

-- `through` is where the cursor stood after the last tick of the range: planning from there extends the range.
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

-- `held` is a set of `model.run.Hold`; `slot` is what a run of a limited job counts for.
CREATE TABLE runs (
    namespace        TEXT NOT NULL,
    run_key          TEXT NOT NULL,
    schedule_id      TEXT,
    job              TEXT NOT NULL,
    fire_time        INTEGER NOT NULL,
    version          INTEGER NOT NULL DEFAULT 0,
    state            TEXT NOT NULL CHECK (state IN ('planned', 'ready', 'running', 'succeeded', 'dead',
                                                    'skipped', 'missed', 'cancelled', 'withdrawn')),
    reason           TEXT,
    attempt          INTEGER NOT NULL DEFAULT 0,
    fence            INTEGER NOT NULL DEFAULT 0,
    epoch            INTEGER NOT NULL DEFAULT 0,
    queue            TEXT NOT NULL,
    priority         INTEGER NOT NULL,
    run_at           INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    alive_until      INTEGER,
    worker           TEXT,
    error            TEXT,
    progress         TEXT,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    payload          TEXT,
    stripped         INTEGER NOT NULL DEFAULT 0,
    origin           TEXT NOT NULL DEFAULT 'live',
    held             INTEGER NOT NULL DEFAULT 0,
    met              TEXT,
    begun_at         INTEGER,
    spent            INTEGER NOT NULL DEFAULT 0,
    backfill_id      INTEGER,
    slot             TEXT,
    note             TEXT,
    progress_at      INTEGER,
    PRIMARY KEY (namespace, run_key)
) STRICT;

-- Of one schedule: all, begun and unfinished, the last to finish, the last success.
CREATE INDEX runs_by_schedule ON runs (namespace, schedule_id, fire_time) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_unfinished ON runs (namespace, schedule_id)
    WHERE schedule_id IS NOT NULL AND fence > 0 AND state IN ('ready', 'running');
CREATE INDEX runs_finished ON runs (namespace, schedule_id, finished_at)
    WHERE schedule_id IS NOT NULL AND fence > 0 AND finished_at IS NOT NULL;
CREATE INDEX runs_succeeded ON runs (namespace, schedule_id, fire_time)
    WHERE schedule_id IS NOT NULL AND state = 'succeeded';

-- For the reaper: few rows, whatever the size of the ledger. Not by `alive_until`: a heartbeat then touches no index.
CREATE INDEX runs_running ON runs (worker) WHERE state = 'running';

-- For people, and for the janitor.
CREATE INDEX runs_by_time ON runs (namespace, fire_time);
CREATE INDEX runs_ended ON runs (finished_at) WHERE finished_at IS NOT NULL AND NOT stripped;

-- Due. A tick that was never started is judged together with its schedule; all else is direct.
CREATE INDEX runs_due_direct ON runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0;
CREATE INDEX runs_due_ticks ON runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0;

-- What a judgement reads: live ticks that were never started, and apart from them, because there may be many, those
-- behind live work.
CREATE INDEX runs_open ON runs (namespace, schedule_id, fire_time)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
      AND origin IN ('live', 'manual');
CREATE INDEX runs_behind ON runs (namespace, schedule_id, fire_time, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
      AND origin NOT IN ('live', 'manual');

-- Every end of a run asks what is parked and nothing else: what a freeze or a gate holds is not in the way.
CREATE INDEX runs_held ON runs (namespace, schedule_id, fire_time) WHERE held <> 0;
CREATE INDEX runs_parked ON runs (namespace, schedule_id, fire_time) WHERE held = 8;

CREATE INDEX runs_of_backfill ON runs (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX runs_dead ON runs (namespace, fire_time) WHERE state = 'dead';
CREATE INDEX runs_caught_up ON runs (namespace, schedule_id, finished_at)
    WHERE origin = 'catch_up' AND fence > 0 AND finished_at IS NOT NULL;

-- Limited jobs: runs in the queue of their job, runs that wait for a slot, ticks among both, and slots in use.
CREATE INDEX runs_lined ON runs (namespace, job, queue, priority, run_at) WHERE held = 32;
CREATE INDEX runs_limited ON runs (namespace, job, slot, priority, run_at) WHERE held = 16;
CREATE INDEX runs_limited_ticks ON runs (namespace, schedule_id, fire_time)
    WHERE held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0;
CREATE INDEX runs_in_slots ON runs (namespace, job, slot) WHERE slot IS NOT NULL AND state = 'running';

-- What waits for a person, among the many that merely wait for their turn.
CREATE INDEX runs_held_by_somebody ON runs (namespace) WHERE held & 7 <> 0;

CREATE TABLE attempts (
    namespace   TEXT NOT NULL,
    run_key     TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    fence       INTEGER NOT NULL,
    worker      TEXT,
    started_at  INTEGER,
    finished_at INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    error       TEXT,
    detail      TEXT,
    output      TEXT,
    PRIMARY KEY (namespace, run_key, attempt)
) STRICT;
CREATE INDEX attempts_by_time ON attempts (finished_at);

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

-- A gate that was never closed has no row. `let_through` is the newest fire time that was released when it was last opened.
CREATE TABLE gates (
    namespace   TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    closed_at   INTEGER,
    reason      TEXT,
    opened_at   INTEGER,
    let_through INTEGER,
    PRIMARY KEY (namespace, schedule_id)
) STRICT;
CREATE INDEX gates_closed ON gates (namespace) WHERE closed_at IS NOT NULL;

CREATE TABLE freezes (
    namespace TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('all', 'label', 'queue', 'schedule')),
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

-- What people did, and with which credential. Entries are never removed, so the numbers rise.
CREATE TABLE audit_log (
    number     INTEGER PRIMARY KEY,
    namespace  TEXT NOT NULL,
    at         INTEGER NOT NULL,
    author     TEXT NOT NULL,
    source     TEXT NOT NULL,
    reason     TEXT,
    action     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    before     TEXT NOT NULL,
    after      TEXT NOT NULL,
    credential TEXT
) STRICT;
CREATE INDEX audit_log_by_number ON audit_log (namespace, number);
CREATE INDEX audit_log_by_subject ON audit_log (namespace, subject, number);

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

-- The ledger's own record of epochs, which every plan is compared with, and of the grants that it accepted.
CREATE TABLE epochs (
    shard       INTEGER PRIMARY KEY,
    epoch       INTEGER NOT NULL,
    holder      TEXT,
    lineage     TEXT NOT NULL DEFAULT '',
    lease_epoch INTEGER NOT NULL DEFAULT 0,
    since       INTEGER,
    transitions INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Who led which shard when. A term ends when the next one of its shard begins; `until` is set only where the shard was
-- cut away.
CREATE TABLE terms (
    number  INTEGER PRIMARY KEY,
    shard   INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    holder  TEXT NOT NULL,
    lineage TEXT NOT NULL,
    since   INTEGER NOT NULL,
    until   INTEGER,
    UNIQUE (shard, epoch)
) STRICT;

-- Plans and registrations of stale leaders.
CREATE TABLE refusals (
    number       INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    shard        INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    holder       TEXT NOT NULL,
    known_epoch  INTEGER NOT NULL,
    known_holder TEXT
) STRICT;

CREATE TABLE nodes (
    node_id     TEXT PRIMARY KEY,
    about       TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    alive_until INTEGER NOT NULL,
    skew_s      REAL NOT NULL,
    report      TEXT NOT NULL DEFAULT '{}',
    reported_at INTEGER,
    draining    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Of tokens, sessions and sign-in links only digests are kept.
CREATE TABLE tokens (
    number       INTEGER PRIMARY KEY,
    token_id     TEXT NOT NULL UNIQUE,
    digest       TEXT NOT NULL,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('worker', 'viewer', 'operator', 'admin')),
    namespace    TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    rotated_from TEXT UNIQUE
) STRICT;
CREATE INDEX tokens_by_namespace ON tokens (namespace, number);

CREATE TABLE sessions (
    number       INTEGER PRIMARY KEY,
    session_id   TEXT NOT NULL UNIQUE,
    digest       TEXT NOT NULL,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    TEXT NOT NULL,
    opened_with  TEXT NOT NULL,
    rests_on     TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;
CREATE INDEX sessions_by_namespace ON sessions (namespace, number);
CREATE INDEX sessions_by_what_they_rest_on ON sessions (rests_on);

-- A link is used once: `session_id` is what became of it. It ends with the token, or the setting, that it rests on.
CREATE TABLE sign_in_links (
    link_id    TEXT PRIMARY KEY,
    digest     TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace  TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    session_id TEXT,
    rests_on   TEXT
) STRICT;
CREATE INDEX sign_in_links_over ON sign_in_links (expires_at);

-- Answers to calls with an idempotency key. Until `held_until` the caller that began is waited for.
CREATE TABLE answers (
    namespace    TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    asked_at     INTEGER NOT NULL,
    held_until   INTEGER NOT NULL,
    status       INTEGER,
    body         BLOB,
    headers      TEXT,
    PRIMARY KEY (namespace, principal_id, key)
) STRICT;
CREATE INDEX answers_by_age ON answers (asked_at);
