-- name: enqueue
WITH {moment}, written AS (
    INSERT INTO fencepost.runs (
        namespace, run_key, job, fire_time, state, queue, priority, run_at, payload, created_at
    )
    SELECT $1, given.run_key, coalesce(given.job, ($3::text[])[1]), coalesce(given.run_at, moment.now),
        CASE WHEN given.run_at > moment.now THEN 'planned' ELSE 'ready' END,
        coalesce(given.queue, ($4::text[])[1]), coalesce(given.priority, ($5::smallint[])[1]),
        coalesce(given.run_at, moment.now), given.payload, moment.now
    FROM unnest(
        {split($2)}, $3::text[], $4::text[], $5::smallint[], $6::timestamptz[], {split($7)}
    ) AS given (run_key, job, queue, priority, run_at, payload)
    CROSS JOIN moment
    ON CONFLICT (namespace, run_key) DO NOTHING
    RETURNING run_key
)
SELECT total.count,
    CASE WHEN total.count < $8::bigint THEN total.keys END AS keys,
    CASE WHEN total.count > 0 THEN pg_notify('fencepost_runs', '') END AS told
FROM (SELECT count(*), array_agg(run_key) AS keys FROM written) AS total;

-- name: enqueue_one
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, state, queue, priority, run_at, payload, created_at
)
SELECT $1, $2, $3, coalesce($6::timestamptz, moment.now),
    CASE WHEN $6::timestamptz > moment.now THEN 'planned' ELSE 'ready' END,
    $4, $5::smallint, coalesce($6::timestamptz, moment.now), $7, moment.now
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING pg_notify('fencepost_runs', '');
