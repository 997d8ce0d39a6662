-- Calendars, and which schedules were written with them.

-- What is not there, or not any more, is expected as revision 0.
-- name: put
INSERT INTO calendars (namespace, name, revision, definition, updated_at)
SELECT :namespace, :name, 1, :definition, :now
WHERE :expected IS NULL OR :expected = coalesce(
    (SELECT revision FROM calendars WHERE namespace = :namespace AND name = :name AND definition IS NOT NULL), 0)
ON CONFLICT (namespace, name) DO UPDATE
SET revision = revision + 1, definition = excluded.definition, updated_at = excluded.updated_at
WHERE definition IS NOT excluded.definition

-- name: get
SELECT namespace, name, revision, definition, updated_at
FROM calendars
WHERE namespace = :namespace AND name = :name AND definition IS NOT NULL

-- name: all
SELECT namespace, name, revision, definition, updated_at
FROM calendars
WHERE namespace = :namespace AND definition IS NOT NULL
ORDER BY name

-- name: remove
UPDATE calendars
SET definition = NULL, updated_at = :now
WHERE namespace = :namespace AND name = :name

-- name: users
SELECT calendar, schedule_id
FROM (
    SELECT calendar, schedule_id, row_number() OVER (PARTITION BY calendar ORDER BY schedule_id) AS place
    FROM calendar_uses INDEXED BY calendar_uses_by_revision
    WHERE namespace = :namespace AND calendar IN (SELECT value FROM json_each(:names))
)
WHERE place <= :limit
ORDER BY calendar, schedule_id

-- Calendars are few. Of their users only those with an older revision are walked, which are none most of the time.
-- name: behind
SELECT DISTINCT s.namespace, s.schedule_id, s.version
FROM calendars c
CROSS JOIN calendar_uses u INDEXED BY calendar_uses_by_revision
    ON u.namespace = c.namespace AND u.calendar = c.name AND u.revision < c.revision
CROSS JOIN schedules s ON s.namespace = u.namespace AND s.schedule_id = u.schedule_id
WHERE c.definition IS NOT NULL AND s.state = 'active' AND s.shard IN (SELECT value FROM json_each(:shards))
ORDER BY s.namespace, s.schedule_id
LIMIT :limit
