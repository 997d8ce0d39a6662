-- The first of two writers of a new id makes the row; it counts as removed at version 0 until the same
-- transaction has given it its first version.
-- name: create
INSERT INTO fencepost.schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)
VALUES ($1, $2, $3, 0, 'removed', '', '', fencepost.now())
ON CONFLICT (namespace, schedule_id) DO NOTHING;

-- Of those who add schedules to a namespace one goes after the other, and each sees those of the one before.
-- Taken before any row is: whoever waits for it holds nothing that the one who has it may need.
-- name: one_adds
SELECT pg_advisory_xact_lock(hashtextextended('fencepost schedules of ' || $1, 0));

-- name: number
SELECT count(*) FROM fencepost.schedules WHERE namespace = $1 AND state <> 'removed';

-- name: lock
SELECT version, state, spec, shard
FROM fencepost.schedules
WHERE namespace = $1 AND schedule_id = $2
FOR UPDATE;

-- Also the cursors are locked, so that a plan in flight has either been written, and is seen by the
-- statements that follow, or will find its cursor changed.
-- name: lock_cursors
SELECT version
FROM fencepost.cursors
WHERE namespace = $1 AND schedule_id = $2
ORDER BY version
FOR UPDATE;

-- name: tzdata
SELECT tzdata
FROM fencepost.schedule_versions
WHERE namespace = $1 AND schedule_id = $2
ORDER BY version DESC
LIMIT 1;

-- name: boundary
SELECT greatest(
    fencepost.now() - make_interval(secs => $3),
    (
        SELECT max(coalesce(in_force_until, in_force_from))
        FROM fencepost.schedule_versions
        WHERE namespace = $1 AND schedule_id = $2
    )
);

-- What is held as $5 says is spared and becomes a tick by hand; one that is held or released at this very
-- moment is one or the other, by what it is after the wait for it.
-- name: close
WITH ahead AS (
    UPDATE fencepost.runs
    SET state = CASE WHEN held & $5::smallint = 0 THEN 'withdrawn' ELSE state END,
        reason = CASE WHEN held & $5::smallint = 0 THEN $4 ELSE reason END,
        finished_at = CASE WHEN held & $5::smallint = 0 THEN fencepost.now() END,
        origin = CASE WHEN held & $5::smallint = 0 THEN origin ELSE 'manual' END,
        held = CASE WHEN held & $5::smallint = 0 THEN 0 ELSE held END
    WHERE namespace = $1
        AND schedule_id = $2
        AND epoch >= 0
        AND fire_time > $3
        AND state = 'planned'
        AND fence = 0
), cursor AS (
    UPDATE fencepost.cursors
    SET until = $3, next_fire_at = CASE WHEN planned_through < $3 THEN next_fire_at END
    WHERE namespace = $1 AND schedule_id = $2 AND until IS NULL
)
UPDATE fencepost.schedule_versions
SET in_force_until = $3
WHERE namespace = $1 AND schedule_id = $2 AND in_force_until IS NULL;

-- A version that is written while the schedule is paused is closed at once. Its cursor is as frozen as the
-- schedule is; what the new labels say is settled after that.
-- name: edit
WITH span AS (
    SELECT $6::timestamptz AS start, CASE WHEN $4::text <> 'active' THEN $6::timestamptz END AS until
), version AS (
    INSERT INTO fencepost.schedule_versions (
        namespace, schedule_id, version, spec, job, in_force_from, in_force_until, tzdata
    )
    SELECT $1, $2, $3, $5, $8, span.start, span.until, $7 FROM span
), cursor AS (
    INSERT INTO fencepost.cursors (
        namespace, schedule_id, shard, version, planned_through, until, next_fire_at, tzdata, frozen
    )
    SELECT $1, $2, $12, $3, span.start, span.until,
        CASE WHEN span.until IS NULL THEN span.start END, $7, schedule.frozen
    FROM span
    JOIN fencepost.schedules AS schedule ON schedule.namespace = $1 AND schedule.schedule_id = $2
)
UPDATE fencepost.schedules
SET version = $3,
    state = $4::text,
    spec = $5,
    job = $8,
    queue = $9,
    priority = $10,
    labels = $11,
    updated_at = fencepost.now()
WHERE namespace = $1 AND schedule_id = $2;

-- name: stop
UPDATE fencepost.schedules
SET state = $3, updated_at = fencepost.now()
WHERE namespace = $1 AND schedule_id = $2;

-- name: forget_uses
DELETE FROM fencepost.calendar_uses WHERE namespace = $1 AND schedule_id = $2;

-- Whoever removes a calendar waits for those who are about to use it. Their locks do not hinder a new
-- revision, and do not need to: the version that they write is then seen to be behind.
-- name: lock_calendars
SELECT name
FROM fencepost.calendars
WHERE namespace = $1 AND name = ANY ($2::text[])
ORDER BY name
FOR KEY SHARE;

-- name: record_uses
INSERT INTO fencepost.calendar_uses (namespace, schedule_id, calendar, revision)
SELECT $1, $2, given.calendar, given.revision
FROM unnest($3::text[], $4::integer[]) AS given (calendar, revision);

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
    ON cursor.namespace = schedule.namespace
    AND cursor.schedule_id = schedule.schedule_id
    AND cursor.version = schedule.version
WHERE schedule.namespace = $1 AND schedule.schedule_id = $2;

-- What is wanted first, and only then its cursors, however many schedules there are.
-- name: page
WITH found AS MATERIALIZED (
    SELECT schedule.namespace, schedule.schedule_id
    FROM fencepost.schedules AS schedule
    WHERE schedule.namespace = $1 AND schedule.schedule_id > $2 AND schedule.state <> 'removed'
    ORDER BY schedule.schedule_id
    LIMIT $3
)

-- name: wanted
WITH found AS MATERIALIZED (
    SELECT schedule.namespace, schedule.schedule_id
    FROM fencepost.schedules AS schedule
    WHERE schedule.namespace = $1
        AND schedule.schedule_id > $2
        AND CASE WHEN $3::text IS NULL THEN schedule.state <> 'removed' ELSE schedule.state = $3 END
        AND ($4::text IS NULL OR strpos(schedule.schedule_id, $4) > 0 OR strpos(schedule.job, $4) > 0)
        AND ($5::text IS NULL OR schedule.job = $5)
        AND ($6::text IS NULL OR schedule.labels ->> $6 = coalesce($7::text, schedule.labels ->> $6))
        AND ($8::boolean IS NULL OR schedule.frozen = $8)
    ORDER BY schedule.schedule_id
    LIMIT $9
)

-- name: find
SELECT own.*
FROM found
CROSS JOIN LATERAL (
    SELECT schedule.*, cursor.planned_through
    FROM fencepost.schedules AS schedule
    JOIN fencepost.cursors AS cursor
        ON cursor.namespace = schedule.namespace
        AND cursor.schedule_id = schedule.schedule_id
        AND cursor.version = schedule.version
    WHERE schedule.namespace = found.namespace AND schedule.schedule_id = found.schedule_id
    LIMIT 1
) AS own
ORDER BY own.schedule_id;

-- name: count
SELECT count(*) FROM found;

-- Many schedules have the same labels: those are taken apart once.
-- name: labels
WITH sets AS MATERIALIZED (
    SELECT DISTINCT schedule.labels
    FROM fencepost.schedules AS schedule
    WHERE schedule.namespace = $1 AND schedule.state <> 'removed'
)
SELECT DISTINCT (label.key || '=' || label.value) COLLATE "C" AS label
FROM sets
CROSS JOIN LATERAL jsonb_each_text(sets.labels) AS label
ORDER BY label
LIMIT $2;

-- name: history
SELECT version, spec, in_force_from, in_force_until, tzdata
FROM fencepost.schedule_versions
WHERE namespace = $1
    AND schedule_id = $2
    AND version > $3
    AND ($5::timestamptz IS NULL OR coalesce(in_force_until, 'infinity') > $5)
ORDER BY version
LIMIT $4;
