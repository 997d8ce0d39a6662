-- The row of a name is there before the calendar is, as one that was removed, so that whoever writes holds
-- it and knows what was there.
-- name: create
INSERT INTO fencepost.calendars (namespace, name, revision, updated_at)
VALUES ($1, $2, 0, fencepost.now())
ON CONFLICT (namespace, name) DO NOTHING;

-- name: take
SELECT definition FROM fencepost.calendars WHERE namespace = $1 AND name = $2 FOR NO KEY UPDATE;

-- What is not there, or not any more, is expected as revision 0.
-- name: put
UPDATE fencepost.calendars
SET revision = revision + 1, definition = $3, updated_at = fencepost.now()
WHERE namespace = $1
    AND name = $2
    AND definition IS DISTINCT FROM $3
    AND ($4::bigint IS NULL OR $4 = CASE WHEN definition IS NULL THEN 0 ELSE revision END)
RETURNING namespace, name, revision, definition, updated_at;

-- name: get
SELECT namespace, name, revision, definition, updated_at
FROM fencepost.calendars
WHERE namespace = $1 AND name = $2 AND definition IS NOT NULL;

-- name: all
SELECT namespace, name, revision, definition, updated_at
FROM fencepost.calendars
WHERE namespace = $1 AND definition IS NOT NULL
ORDER BY name;

-- Stronger than what the removal itself would take: it waits for versions that are about to use it.
-- name: lock
SELECT definition
FROM fencepost.calendars
WHERE namespace = $1 AND name = $2 AND definition IS NOT NULL AND revision = coalesce($3::bigint, revision)
FOR UPDATE;

-- name: remove
UPDATE fencepost.calendars
SET definition = NULL, updated_at = fencepost.now()
WHERE namespace = $1 AND name = $2;

-- name: tell
SELECT pg_notify('fencepost_calendars', '');

-- name: users
SELECT used.calendar, used.schedule_id
FROM unnest($2::text[]) AS given (name)
CROSS JOIN LATERAL (
    SELECT each.calendar, each.schedule_id
    FROM fencepost.calendar_uses AS each
    WHERE each.namespace = $1 AND each.calendar = given.name
    ORDER BY each.schedule_id
    LIMIT $3
) AS used
ORDER BY used.calendar, used.schedule_id;

-- Calendars are few. Of their users only those with an older revision are walked, which are none most of
-- the time: the offset of nothing and the limit keep the planner from a join that walks them all.
-- name: behind
WITH old AS MATERIALIZED (
    SELECT DISTINCT used.namespace, used.schedule_id
    FROM fencepost.calendars AS calendar
    CROSS JOIN LATERAL (
        SELECT each.namespace, each.schedule_id
        FROM fencepost.calendar_uses AS each
        WHERE each.namespace = calendar.namespace
            AND each.calendar = calendar.name
            AND each.revision < calendar.revision
        OFFSET 0
    ) AS used
    WHERE calendar.definition IS NOT NULL
)
SELECT old.namespace, old.schedule_id, active.version
FROM old
CROSS JOIN LATERAL (
    SELECT schedule.version
    FROM fencepost.schedules AS schedule
    WHERE schedule.namespace = old.namespace
        AND schedule.schedule_id = old.schedule_id
        AND schedule.state = 'active'
        AND schedule.shard = ANY ($1::integer[])
    LIMIT 1
) AS active
ORDER BY old.namespace, old.schedule_id
LIMIT $2;
