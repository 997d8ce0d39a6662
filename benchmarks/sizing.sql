-- What the sizing page measures: schedules that fire evenly, and a ledger with a past.

-- name: schedules
INSERT INTO fencepost.schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)
SELECT 'default', 'sized-' || n, n % 8, 1, 'active', $1, 'noop', now() FROM generate_series(1, $2::int) AS n

-- name: versions
INSERT INTO fencepost.schedule_versions (namespace, schedule_id, version, spec, job, in_force_from, tzdata)
SELECT namespace, schedule_id, 1, spec, job, now(), $1 FROM fencepost.schedules

-- The interval has no anchor: all would fire together. The cursor says when each was planned last, and the spread of the
-- schedule says where in its period each one runs.
-- name: cursors
INSERT INTO fencepost.cursors (namespace, schedule_id, shard, version, planned_through, next_fire_at, tzdata)
SELECT namespace, schedule_id, shard, 1, $1, $1, $2 FROM fencepost.schedules

-- name: past
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, attempt, fence, epoch, queue, priority,
    run_at, started_at, finished_at, worker, first_started_at
)
SELECT 'default', 'past-' || n % 1000 || '#2026-01-01T00:00:00Z#' || n,
    'past-' || n % 1000, 'noop', at, 1, 'succeeded', 1, n, 1, 'default', 2, at, at, at, 'a-worker', at
FROM generate_series($1::bigint, $2::bigint) AS n
CROSS JOIN LATERAL (SELECT date_trunc('second', now()) - make_interval(secs => 3600 + n / 1000) AS at) AS moment

-- name: analyze
VACUUM ANALYZE fencepost.runs

-- name: succeeded
SELECT count(*) FROM fencepost.runs WHERE state = 'succeeded' AND finished_at > $1

-- name: wal
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint

-- name: runs_bytes
SELECT pg_total_relation_size('fencepost.runs')

-- name: table_bytes
SELECT pg_table_size('fencepost.runs')

-- name: checkpoint
CHECKPOINT

-- The first page of the dashboard's list of runs, and of one schedule.
-- name: page
SELECT run_key, state, fire_time FROM fencepost.runs
WHERE state = 'succeeded' AND namespace = 'default' AND version >= 0
ORDER BY fire_time DESC LIMIT 50

-- name: page_of_schedule
SELECT run_key, state, fire_time FROM fencepost.runs
WHERE namespace = 'default' AND schedule_id = 'past-7' AND epoch >= 0
ORDER BY fire_time DESC LIMIT 50
