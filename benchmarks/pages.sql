-- A ledger worth looking at: 10,000 schedules and a million runs of the last 30 days, all made by arithmetic on a
-- number, so that every ground is the same but for its present. Eight schedules fire every minute, 500 every hour, the
-- rest once a day, most of them at the same second; `ground.py` has what they say.

-- name: clear
TRUNCATE fencepost.runs, fencepost.attempts, fencepost.schedules, fencepost.schedule_versions, fencepost.cursors,
    fencepost.jobs, fencepost.audit_log, fencepost.run_logs, fencepost.epochs, fencepost.terms, fencepost.nodes,
    fencepost.backfills, fencepost.gates, fencepost.tokens;

-- name: jobs
INSERT INTO fencepost.jobs (namespace, name, spec, queue, priority, updated_at)
SELECT 'default', 'job-' || n, replace($1, 'a-job', 'job-' || n), 'default', 3, now() FROM generate_series(0, 199) AS n;

-- name: schedules
INSERT INTO fencepost.schedules (
    namespace, schedule_id, shard, version, state, spec, job, labels, updated_at, frozen
)
SELECT 'default', 'schedule-' || lpad(n::text, 5, '0'), n % 8, 1,
    CASE WHEN n % 50 = 49 THEN 'paused' ELSE 'active' END,
    spec, spec::jsonb ->> 'job', spec::jsonb -> 'labels', now() - make_interval(hours => n % 700), n % 100 = 7
FROM unnest($1::text[]) WITH ORDINALITY AS given (spec, number)
CROSS JOIN LATERAL (SELECT given.number::integer - 1 AS n) AS counted;

-- name: versions
INSERT INTO fencepost.schedule_versions (namespace, schedule_id, version, spec, job, in_force_from, tzdata)
SELECT namespace, schedule_id, 1, spec, job, now() - interval '31 days', '2026a' FROM fencepost.schedules;

-- name: cursors
INSERT INTO fencepost.cursors (namespace, schedule_id, shard, version, planned_through, next_fire_at, tzdata)
SELECT namespace, schedule_id, shard, 1, now(), now() + interval '1 minute', '2026a' FROM fencepost.schedules;

-- name: runs
WITH moment AS (
    SELECT date_trunc('minute', now()) AS now
), ticks AS (
    SELECT n, at
    FROM moment
    CROSS JOIN LATERAL (
        SELECT n, at FROM generate_series(0, 7) AS n,
            generate_series(moment.now - interval '30 days', moment.now + interval '1 minute', interval '1 minute') AS at
        UNION ALL
        SELECT n, at + make_interval(secs => 60 * (n % 10)) FROM generate_series(8, 507) AS n,
            generate_series(date_trunc('hour', moment.now) - interval '30 days', moment.now, interval '1 hour') AS at
        UNION ALL
        SELECT n, at + CASE WHEN n % 4 = 0 THEN make_interval(secs => 60 * (n % 1000)) ELSE interval '0' END
        FROM generate_series(508, 9999) AS n,
            generate_series(date_trunc('day', moment.now) - interval '29 days', moment.now, interval '1 day') AS at
    ) AS fired
    WHERE at <= moment.now + interval '1 minute'
), judged AS (
    SELECT n, at, row_number() OVER (ORDER BY at, n) AS number, (hashint8(n * 7919 + extract(epoch FROM at)::bigint) & 1023) AS dice,
        at > moment.now AS ahead, at > moment.now - interval '5 minutes' AS fresh
    FROM ticks CROSS JOIN moment
), states AS (
    SELECT judged.*,
        CASE
            WHEN ahead THEN 'planned'
            WHEN fresh AND dice < 300 THEN 'running'
            WHEN fresh AND dice < 600 THEN 'ready'
            WHEN dice < 10 THEN 'dead'
            WHEN dice < 20 THEN 'skipped'
            WHEN dice < 30 THEN 'missed'
            WHEN dice < 35 THEN 'cancelled'
            WHEN dice < 37 THEN 'withdrawn'
            ELSE 'succeeded'
        END AS state,
        CASE WHEN dice < 10 THEN 5 WHEN dice BETWEEN 40 AND 60 THEN 2 ELSE 1 END AS tries
    FROM judged
)
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, reason, attempt, fence, epoch, queue, priority,
    run_at, started_at, finished_at, alive_until, worker, error, origin, held, first_started_at
)
SELECT 'default', 'schedule-' || lpad(n::text, 5, '0') || '#' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '#1',
    'schedule-' || lpad(n::text, 5, '0'), 'job-' || n % 200, at, 1, state,
    CASE WHEN state IN ('skipped', 'missed', 'dead') THEN 'as it happens' END,
    CASE WHEN state IN ('running', 'succeeded', 'dead') THEN tries ELSE 0 END,
    CASE WHEN state IN ('running', 'succeeded', 'dead') THEN number ELSE 0 END,
    7, (ARRAY['default', 'mail', 'slow'])[1 + n % 3], 3, at,
    CASE WHEN state IN ('running', 'succeeded', 'dead') THEN at + make_interval(secs => dice / 200.0) END,
    CASE WHEN state NOT IN ('planned', 'ready', 'running') THEN at + make_interval(secs => 1 + dice / 20.0) END,
    CASE WHEN state = 'running' THEN now() + interval '1 day' END,
    CASE WHEN state IN ('running', 'succeeded', 'dead') THEN 'worker-' || n % 16 || '-abc' END,
    CASE WHEN state = 'dead' THEN 'ConnectionError: host-' || n % 50 || ' refused the connection' END,
    CASE WHEN dice = 100 THEN 'catch_up' WHEN dice = 101 THEN 'replay' ELSE 'live' END,
    CASE WHEN state = 'ready' AND dice % 3 = 0 THEN 1 ELSE 0 END,
    CASE WHEN state IN ('running', 'succeeded', 'dead') THEN at + make_interval(secs => dice / 200.0) END
FROM states
ORDER BY at, n;

-- name: by_hand
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, version, state, attempt, fence, queue, priority, run_at, started_at, finished_at,
    worker, payload
)
SELECT 'default', 'job-' || n % 200 || '#order-' || n, 'job-' || n % 200, at, 0, 'succeeded', 1, 2000000 + n, 'mail', 2,
    at, at, at + interval '1 second', 'worker-' || n % 16 || '-abc', '{"order": 7}'
FROM generate_series(1, 10000) AS n
CROSS JOIN LATERAL (SELECT now() - make_interval(secs => n * 250) AS at) AS moment;

-- name: other_tenant
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, version, state, attempt, fence, queue, priority, run_at, started_at, finished_at
)
SELECT 'tenant-' || n % 20, 'job#' || n, 'job', at, 0, 'succeeded', 1, 3000000 + n, 'default', 3, at, at, at
FROM generate_series(1, 2000) AS n
CROSS JOIN LATERAL (SELECT now() - make_interval(secs => n * 60) AS at) AS moment;

-- name: attempts
INSERT INTO fencepost.attempts (
    namespace, run_key, attempt, fence, worker, started_at, finished_at, outcome, error, detail
)
SELECT run.namespace, run.run_key, try, run.fence, run.worker, run.started_at, coalesce(run.finished_at, run.started_at),
    'failed', 'ConnectionError: refused', repeat('  File "job.py", line 7, in work' || chr(10), 10)
FROM fencepost.runs AS run
CROSS JOIN LATERAL generate_series(1, run.attempt) AS try
WHERE run.attempt > 1;

-- name: audit_log
INSERT INTO fencepost.audit_log (namespace, at, author, source, action, subject, before, after)
SELECT 'default', now() - make_interval(secs => 26 * (100000 - n)), (ARRAY['anna', 'ben', 'fencepost'])[1 + n % 3], 'cli',
    (ARRAY['schedule.put', 'schedule.pause', 'run.replay'])[1 + n % 3], 'schedule-' || lpad((n % 10000)::text, 5, '0'), '{}', '{}'
FROM generate_series(1, 100000) AS n;

-- name: run_log
INSERT INTO fencepost.run_logs (namespace, run_key, attempt, number, first_line, lines, text, at)
SELECT 'default', $1, 1, n, n * 40, 40, repeat('a line of the log of this run' || chr(10), 40), now()
FROM generate_series(1, 200) AS n;

-- name: leaders
INSERT INTO fencepost.epochs (shard, epoch, holder, lease_epoch, since, transitions)
SELECT n, 100 + n, 'node-' || n % 3, 100 + n, now() - make_interval(hours => n), 100 FROM generate_series(0, 7) AS n;

-- name: terms
INSERT INTO fencepost.terms (shard, epoch, holder, lineage, since)
SELECT n % 8, n / 8, 'node-' || n % 3, '', now() - make_interval(mins => 10000 - n) FROM generate_series(0, 9999) AS n;

-- name: fleet
INSERT INTO fencepost.nodes (node_id, about, started_at, alive_until, skew_s, reported_at)
SELECT 'worker-' || n || '-abc', replace($1, 'a-node', 'worker-' || n || '-abc'), now() - make_interval(hours => n),
    now() + interval '1 day', 0, now()
FROM generate_series(0, 99) AS n;

-- name: backfills
INSERT INTO fencepost.backfills (
    namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, next_run_at, created_at
)
SELECT 'default', 'schedule-' || lpad(n::text, 5, '0'), now() - interval '60 days', now() - interval '59 days', 'missing', 2, 0,
    'filled', now() - interval '59 days', now(), now() - make_interval(hours => n)
FROM generate_series(1, 200) AS n;

-- name: gates
INSERT INTO fencepost.gates (namespace, schedule_id, closed_at, reason)
SELECT 'default', 'schedule-' || lpad(n::text, 5, '0'), now(), 'too many ticks are late' FROM generate_series(0, 49) AS n;

-- name: tokens
INSERT INTO fencepost.tokens (token_id, digest, name, role, namespace, created_at, created_by)
SELECT 't' || lpad(to_hex(n), 16, '0'), '', 'token-' || n, 'viewer', 'default', now() - make_interval(hours => n), 'anna'
FROM generate_series(1, 500) AS n;

-- name: settle
VACUUM (ANALYZE);

-- name: a_key
SELECT run_key FROM fencepost.runs WHERE namespace = 'default' AND schedule_id = 'schedule-00001'
ORDER BY fire_time DESC LIMIT 1;
