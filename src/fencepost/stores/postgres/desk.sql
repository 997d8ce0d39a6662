-- What people do to runs. A run is locked before it is read; a statement returns a row only where it made a
-- difference.

-- name: enqueue
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), written AS (
    INSERT INTO fencepost.runs (
        namespace, run_key, job, fire_time, state, queue, priority, run_at, payload
    )
    SELECT $1, given.run_key, given.job, coalesce(given.run_at, moment.now),
        CASE WHEN given.run_at > moment.now THEN 'planned' ELSE 'ready' END,
        given.queue, given.priority, coalesce(given.run_at, moment.now), given.payload
    FROM unnest($2::text[], $3::text[], $4::text[], $5::smallint[], $6::timestamptz[], $7::text[])
        AS given (run_key, job, queue, priority, run_at, payload)
    CROSS JOIN moment
    ON CONFLICT (namespace, run_key) DO NOTHING
    RETURNING run_key
)
SELECT total.count,
    CASE WHEN total.count < cardinality($2::text[]) THEN total.keys END AS keys,
    CASE WHEN total.count > 0 THEN pg_notify('fencepost_runs', '') END AS told
FROM (SELECT count(*), array_agg(run_key) AS keys FROM written) AS total;

-- name: enqueue_one
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, state, queue, priority, run_at, payload
)
SELECT $1, $2, $3, coalesce($6::timestamptz, moment.now),
    CASE WHEN $6::timestamptz > moment.now THEN 'planned' ELSE 'ready' END,
    $4, $5::smallint, coalesce($6::timestamptz, moment.now), $7
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING pg_notify('fencepost_runs', '');

-- name: in_force
SELECT version FROM fencepost.schedules
WHERE namespace = $1 AND schedule_id = $2 AND state <> 'removed'
FOR NO KEY UPDATE;

-- name: trigger
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at, origin, held
)
SELECT schedule.namespace, $4, schedule.schedule_id, schedule.job, $3::timestamptz,
    schedule.version, 'ready', coalesce(schedule.queue, job.queue, 'default'),
    coalesce(schedule.priority, job.priority, 2), $3::timestamptz, 'manual',
    CASE WHEN schedule.frozen THEN 2 ELSE 0 END
FROM fencepost.schedules AS schedule
LEFT JOIN fencepost.jobs AS job
    ON job.namespace = schedule.namespace AND job.name = schedule.job
WHERE schedule.namespace = $1 AND schedule.schedule_id = $2
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING run_key;

-- name: cancel
UPDATE fencepost.runs
SET state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END,
    fence = CASE WHEN state = 'ready' AND fence > 0 THEN nextval('fencepost.fences') ELSE fence END,
    finished_at = CASE WHEN state = 'running' THEN finished_at ELSE fencepost.now() END,
    cancel_requested = cancel_requested OR state = 'running',
    reason = CASE WHEN state = 'running' THEN reason ELSE $3 END,
    error = CASE WHEN state = 'running' THEN error END,
    held = CASE WHEN state = 'running' THEN held ELSE 0 END
WHERE namespace = $1
    AND run_key = ANY ($2::text[])
    AND finished_at IS NULL
    AND NOT (cancel_requested AND alive_until IS NOT NULL)
RETURNING run_key;

-- name: skip
UPDATE fencepost.runs
SET state = 'skipped', reason = $3, error = NULL, finished_at = fencepost.now(), held = 0
WHERE namespace = $1 AND run_key = ANY ($2::text[]) AND finished_at IS NULL AND fence = 0
RETURNING run_key;

-- name: hold
UPDATE fencepost.runs
SET held = held | 1
WHERE namespace = $1 AND run_key = ANY ($2::text[]) AND finished_at IS NULL AND alive_until IS NULL AND held & 1 = 0
RETURNING run_key;

-- name: release
UPDATE fencepost.runs
SET held = held & ~1, run_at = greatest(run_at, fencepost.now())
WHERE namespace = $1 AND run_key = ANY ($2::text[]) AND finished_at IS NULL AND alive_until IS NULL AND held & 1 <> 0
RETURNING run_key;

-- name: replayable
SELECT ARRAY(
    SELECT run.run_key
    FROM unnest($2::text[]) AS given (run_key)
    JOIN fencepost.runs AS run ON run.namespace = $1 AND run.run_key = given.run_key
    WHERE run.finished_at IS NOT NULL AND run.state = ANY ($3::text[]) AND NOT run.stripped
);

-- Missed ranges are few, and all of a schedule's are looked at.
-- name: plan_by_name
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at, held, reason,
    finished_at
)
SELECT $1, tick.run_key, $2, $4, tick.fire_time, $3, $8::text, $5, $6, tick.run_at, $7, $9,
    CASE WHEN $8::text <> 'planned' THEN fencepost.now() END
FROM unnest($10::text[], $11::timestamptz[], $12::timestamptz[]) AS tick (run_key, fire_time, run_at)
JOIN fencepost.schedule_versions AS version
    ON version.namespace = $1 AND version.schedule_id = $2 AND version.version = $3
WHERE tick.fire_time > version.in_force_from
    AND tick.fire_time <= coalesce(version.in_force_until, 'infinity')
    AND NOT EXISTS (
        SELECT 1
        FROM fencepost.runs AS other
        WHERE other.namespace = $1
            AND other.schedule_id = $2
            AND other.epoch >= 0
            AND other.fire_time = tick.fire_time
            AND other.state <> 'withdrawn'
    )
    AND NOT EXISTS (
        SELECT 1
        FROM fencepost.missed_ranges AS missed
        WHERE missed.namespace = $1
            AND missed.schedule_id = $2
            AND tick.fire_time BETWEEN missed.first_at AND missed.last_at
    )
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING run_key;
