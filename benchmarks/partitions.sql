-- The table of runs beside the same rows in partitions by month: see docs/decisions/0047-runs-stay-in-one-table.md.

-- name: year
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, attempt, fence, epoch, queue, priority,
    run_at, started_at, finished_at, worker, first_started_at
)
SELECT 'default', 'past-' || n % 1000 || '#' || n, 'past-' || n % 1000, 'noop', at, 1, 'succeeded', 1, n, 1, 'default', 2,
    at, at, at, 'a-worker', at
FROM generate_series(1, $1::bigint) AS n
CROSS JOIN LATERAL (SELECT now() - interval '360 days' * (n::float8 / $1) AS at) AS moment

-- name: parent
CREATE TABLE fencepost.parted (LIKE fencepost.runs INCLUDING DEFAULTS) PARTITION BY RANGE (fire_time);
ALTER TABLE fencepost.parted ADD PRIMARY KEY (namespace, run_key, fire_time)

-- name: partition
SELECT format(
    'CREATE TABLE fencepost.parted_%s PARTITION OF fencepost.parted FOR VALUES FROM (%L) TO (%L)',
    n + 1, now() - interval '360 days' + n * interval '30 days', now() - interval '330 days' + n * interval '30 days'
) FROM generate_series(-1, 13) AS n

-- name: indexes
SELECT replace(replace(indexdef, 'INDEX runs_', 'INDEX parted_'), 'ON fencepost.runs', 'ON fencepost.parted')
FROM pg_indexes WHERE schemaname = 'fencepost' AND tablename = 'runs' AND indexname <> 'runs_pkey'

-- name: copy
INSERT INTO fencepost.parted SELECT * FROM fencepost.runs

-- name: analyze
ANALYZE fencepost.runs, fencepost.parted

-- name: by_key
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT * FROM fencepost.TABLE_NAME WHERE namespace = 'default' AND run_key = 'past-7#5007' FOR UPDATE

-- name: due
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT run_key FROM fencepost.TABLE_NAME
WHERE namespace = 'default' AND queue = 'default' AND priority = 2 AND run_at <= now()
    AND state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0 AND attempt >= 0
ORDER BY run_at LIMIT 100

-- name: of_schedule
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT run_key FROM fencepost.TABLE_NAME
WHERE namespace = 'default' AND schedule_id = 'past-7' AND schedule_id IS NOT NULL AND fence > 0
    AND finished_at IS NOT NULL
ORDER BY finished_at DESC LIMIT 1

-- name: page
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
SELECT run_key, state, fire_time FROM fencepost.TABLE_NAME
WHERE state = 'succeeded' AND namespace = 'default' AND version >= 0
ORDER BY fire_time DESC LIMIT 50
