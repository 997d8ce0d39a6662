-- The same rows by hand: what the store can do at most.

-- name: claim
UPDATE fencepost.runs AS run
SET state = 'running', attempt = run.attempt + 1, fence = nextval('fencepost.fences'), worker = 'bare',
    started_at = clock_timestamp(), alive_until = clock_timestamp() + interval '30 s'
FROM (
    SELECT namespace, run_key
    FROM fencepost.runs
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0)
      AND namespace = 'default' AND queue = 'default' AND priority = 2 AND run_at <= now()
    ORDER BY run_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
) AS due
WHERE run.namespace = due.namespace AND run.run_key = due.run_key
RETURNING run.run_key, run.attempt, run.fence, run.payload

-- name: complete
UPDATE fencepost.runs AS run
SET state = 'succeeded', finished_at = clock_timestamp(), alive_until = NULL
FROM unnest($1::text[], $2::bigint[]) AS done (run_key, fence)
WHERE run.namespace = 'default' AND run.run_key = done.run_key AND run.fence = done.fence

-- name: insert
INSERT INTO fencepost.runs (namespace, run_key, job, fire_time, state, queue, priority, run_at, payload)
VALUES ('default', $1, 'noop', now(), 'ready', 'default', 2, now(), '{}')

-- name: clear
TRUNCATE fencepost.runs, fencepost.attempts

-- name: vacuum
VACUUM ANALYZE fencepost.runs

-- name: left
SELECT count(*) FROM fencepost.runs WHERE state <> 'succeeded'

-- name: lateness
SELECT extract(epoch FROM started_at - fire_time)::float8 AS late_s FROM fencepost.runs WHERE started_at IS NOT NULL

-- name: statements
SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'

-- name: clone_schedules
INSERT INTO fencepost.schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)
SELECT 'default', 'clone-' || n, n % 8, 1, 'active', $1, 'noop', now() FROM generate_series(1, $2::int) AS n

-- name: clone_versions
INSERT INTO fencepost.schedule_versions (namespace, schedule_id, version, spec, job, in_force_from, tzdata)
SELECT namespace, schedule_id, 1, spec, job, now(), 'bench' FROM fencepost.schedules WHERE schedule_id LIKE 'clone-%'

-- name: clone_cursors
INSERT INTO fencepost.cursors (namespace, schedule_id, shard, version, planned_through, next_fire_at)
SELECT namespace, schedule_id, shard, 1, $1, $1 FROM fencepost.schedules WHERE schedule_id LIKE 'clone-%'

-- name: alive_until
SELECT alive_until
FROM fencepost.runs
WHERE namespace = 'default' AND run_key = $1;
