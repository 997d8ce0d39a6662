-- What is wanted first, and only then its cursors, however many schedules there are.
-- part: wanted
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
{wanted}
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
{wanted}
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
