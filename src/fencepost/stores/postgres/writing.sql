-- What several parts do to runs alike. Rows that a statement locks and then writes are chosen in a MATERIALIZED part:
-- a plan may ask a nested query again for each row that it joins, and would find, and take, more than its limit.

-- name: now
SELECT fencepost.now();

-- name: tell
SELECT pg_notify('fencepost_runs', '');

-- One tick of each schedule; one that somebody has locked is being judged, or unparked, already.
-- name: ring
WITH next AS MATERIALIZED (
    SELECT first.namespace, first.run_key
    FROM unnest($1::text[], $2::text[]) AS freed (namespace, schedule_id)
    CROSS JOIN LATERAL (
        SELECT parked.namespace, parked.run_key
        FROM fencepost.runs AS parked
        WHERE parked.namespace = freed.namespace
            AND parked.schedule_id = freed.schedule_id
            AND parked.held = 8
        ORDER BY parked.fire_time, parked.run_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS first
), rung AS (
    UPDATE fencepost.runs AS run
    SET held = 0
    FROM next
    WHERE run.namespace = next.namespace AND run.run_key = next.run_key
    RETURNING run.run_key
)
SELECT CASE WHEN EXISTS (SELECT 1 FROM rung) THEN pg_notify('fencepost_runs', '') END AS told;

-- name: lock_schedule
SELECT version, state, frozen
FROM fencepost.schedules
WHERE namespace = $1 AND schedule_id = $2
FOR UPDATE;

-- Whoever writes ticks takes the cursors too, as an edit does: what a planner has in flight is then written,
-- and seen, or comes later.
-- name: lock_cursors
SELECT version
FROM fencepost.cursors
WHERE namespace = $1 AND schedule_id = $2
ORDER BY version
FOR UPDATE;

-- A planner's write that waits, for its fence, goes on with the snapshot that it began with, and does not see
-- what was written meanwhile. So whoever writes ticks beside the planner leaves a mark on every cursor that is
-- still planned, and a plan that was made before is dropped.
-- name: touch_cursors
UPDATE fencepost.cursors
SET touched = touched + 1
WHERE namespace = $1 AND schedule_id = $2 AND next_fire_at IS NOT NULL;

-- Several schedules are taken in the order of their ids.
-- name: lock_schedules_of
SELECT schedule.schedule_id
FROM fencepost.schedules AS schedule
WHERE schedule.namespace = $1
    AND schedule.schedule_id = ANY (ARRAY(
        SELECT run.schedule_id
        FROM unnest($2::text[]) AS given (run_key)
        JOIN fencepost.runs AS run ON run.namespace = $1 AND run.run_key = given.run_key
    ))
ORDER BY schedule.schedule_id
FOR UPDATE;

-- And several runs in the order of their keys. One that has not ended is not waited for: it may be in a
-- transaction of its own.
-- name: lock_ended
SELECT run.run_key
FROM unnest($2::text[]) AS given (run_key)
JOIN fencepost.runs AS run ON run.namespace = $1 AND run.run_key = given.run_key
WHERE run.finished_at IS NOT NULL
ORDER BY run.run_key
FOR UPDATE OF run;

-- Nobody is waited for, so any order will do.
-- name: take_runs
SELECT run.namespace, run.run_key
FROM unnest($1::text[], $2::text[]) AS given (namespace, run_key)
JOIN fencepost.runs AS run ON run.namespace = given.namespace AND run.run_key = given.run_key
FOR UPDATE OF run SKIP LOCKED;

-- name: pause
SELECT pg_sleep($1);

-- Whoever calls it holds the locks of the runs and of their schedules.
-- name: send_again
UPDATE fencepost.runs AS run
SET state = 'ready',
    reason = NULL,
    error = NULL,
    fence = 0,
    run_at = given.run_at,
    priority = 5,
    started_at = NULL,
    finished_at = NULL,
    begun_at = NULL,
    worker = NULL,
    progress = NULL,
    note = NULL,
    progress_at = NULL,
    cancel_requested = false,
    origin = $4,
    held = CASE WHEN EXISTS (
        SELECT 1
        FROM fencepost.schedules AS schedule
        WHERE schedule.namespace = run.namespace
            AND schedule.schedule_id = run.schedule_id
            AND schedule.frozen
    ) THEN 2 ELSE 0 END,
    met = NULL,
    spent = run.attempt,
    backfill_id = $5
FROM unnest($2::text[], $3::timestamptz[]) AS given (run_key, run_at)
WHERE run.namespace = $1 AND run.run_key = given.run_key AND run.finished_at IS NOT NULL
RETURNING run.run_key;

-- name: versions
SELECT version.version, version.spec,
    coalesce(job.queue, 'default') AS queue,
    coalesce(job.priority, 2) AS priority
FROM fencepost.schedule_versions AS version
LEFT JOIN fencepost.jobs AS job
    ON job.namespace = version.namespace AND job.name = version.job
WHERE version.namespace = $1 AND version.schedule_id = $2 AND version.version = ANY ($3::integer[]);
