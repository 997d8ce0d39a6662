-- The first of two writers of a new id makes the row; it counts as removed at version 0 until the same
-- transaction has given it its first version.
-- name: create
WITH made AS (
    INSERT INTO fencepost.schedules (
        namespace, schedule_id, shard, version, state, spec, job, updated_at
    )
    VALUES ($1, $2, $3, 0, 'removed', '', '', fencepost.now())
    ON CONFLICT (namespace, schedule_id) DO NOTHING
    RETURNING namespace, schedule_id, shard
)
INSERT INTO fencepost.cursors (namespace, schedule_id, shard, version, planned_through)
SELECT namespace, schedule_id, shard, 0, fencepost.now() FROM made;

-- Also the cursor is locked, so that a plan in flight has either been written, and is seen by the
-- statements that follow, or will find the cursor changed.
-- name: lock
SELECT schedule.version, schedule.state, schedule.spec
FROM fencepost.schedules AS schedule
JOIN fencepost.cursors AS cursor
    ON cursor.namespace = schedule.namespace AND cursor.schedule_id = schedule.schedule_id
WHERE schedule.namespace = $1 AND schedule.schedule_id = $2
FOR UPDATE OF schedule, cursor;

-- name: tzdata
SELECT tzdata
FROM fencepost.schedule_versions
WHERE namespace = $1 AND schedule_id = $2
ORDER BY version DESC
LIMIT 1;

-- name: boundary
SELECT greatest(
    fencepost.now(),
    (
        SELECT max(coalesce(in_force_until, in_force_from))
        FROM fencepost.schedule_versions
        WHERE namespace = $1 AND schedule_id = $2
    ),
    (
        SELECT max(fire_time)
        FROM fencepost.runs
        WHERE namespace = $1
            AND schedule_id = $2
            AND fire_time > (SELECT fencepost.now())
            AND state NOT IN ('planned', 'withdrawn')
    )
);

-- name: close
WITH withdrawn AS (
    UPDATE fencepost.runs
    SET state = 'withdrawn', reason = $4, finished_at = fencepost.now()
    WHERE namespace = $1
        AND schedule_id = $2
        AND fire_time > $3
        AND state = 'planned'
        AND fence = 0
)
UPDATE fencepost.schedule_versions
SET in_force_until = $3
WHERE namespace = $1 AND schedule_id = $2 AND in_force_until IS NULL;

-- name: edit
WITH version AS (
    INSERT INTO fencepost.schedule_versions (
        namespace, schedule_id, version, spec, in_force_from, in_force_until, tzdata
    )
    VALUES (
        $1, $2, $3, $5, $6::timestamptz,
        CASE WHEN $4::text = 'active' THEN NULL ELSE $6::timestamptz END, $7
    )
), schedule AS (
    UPDATE fencepost.schedules
    SET version = $3,
        state = $4::text,
        spec = $5,
        job = $8,
        queue = $9,
        priority = $10,
        labels = $11,
        updated_at = fencepost.now()
    WHERE namespace = $1 AND schedule_id = $2
)
UPDATE fencepost.cursors
SET version = $3,
    planned_through = $6::timestamptz,
    next_fire_at = CASE WHEN $4::text = 'active' THEN $6::timestamptz END
WHERE namespace = $1 AND schedule_id = $2;

-- name: stop
WITH schedule AS (
    UPDATE fencepost.schedules
    SET state = $3, updated_at = fencepost.now()
    WHERE namespace = $1 AND schedule_id = $2
)
UPDATE fencepost.cursors
SET planned_through = $4, next_fire_at = NULL
WHERE namespace = $1 AND schedule_id = $2;

-- name: record_code
UPDATE fencepost.schedules
SET code_spec = $3, code_digest = $4
WHERE namespace = $1 AND schedule_id = $2;

-- name: tell
SELECT pg_notify('fencepost_schedules', '');

-- name: get
SELECT schedule.*, cursor.planned_through
FROM fencepost.schedules AS schedule
JOIN fencepost.cursors AS cursor
    ON cursor.namespace = schedule.namespace AND cursor.schedule_id = schedule.schedule_id
WHERE schedule.namespace = $1 AND schedule.schedule_id = $2;

-- name: page
SELECT schedule.*, cursor.planned_through
FROM fencepost.schedules AS schedule
JOIN fencepost.cursors AS cursor
    ON cursor.namespace = schedule.namespace AND cursor.schedule_id = schedule.schedule_id
WHERE schedule.namespace = $1 AND schedule.schedule_id > $2 AND schedule.state <> 'removed'
ORDER BY schedule.schedule_id
LIMIT $3;

-- name: history
SELECT version, spec, in_force_from, in_force_until, tzdata
FROM fencepost.schedule_versions
WHERE namespace = $1 AND schedule_id = $2
ORDER BY version;
