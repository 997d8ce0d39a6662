-- Freezes. A run of a frozen schedule is held by 2.

-- name: freeze
INSERT INTO freezes (namespace, kind, value, since, author, source, reason)
VALUES (:namespace, :kind, :value, :now, :author, :source, :reason)
ON CONFLICT (namespace, kind, value) DO NOTHING
RETURNING 1

-- name: thaw
DELETE FROM freezes WHERE namespace = :namespace AND kind = :kind AND value = :value RETURNING 1

-- name: all
SELECT namespace, kind, value, since, author, source, reason
FROM freezes
WHERE namespace = :namespace
ORDER BY kind, value

-- name: stopped_queues
SELECT iif(kind = 'queue', value, NULL) FROM freezes WHERE namespace = :namespace AND kind IN ('all', 'queue')

-- name: labels
SELECT schedule_id, labels FROM schedules WHERE namespace = :namespace

-- name: labels_of
SELECT schedule_id, labels FROM schedules WHERE namespace = :namespace AND schedule_id = :schedule_id

-- name: mark_schedules
UPDATE schedules
SET frozen = :frozen
WHERE namespace = :namespace AND schedule_id IN (SELECT value FROM json_each(:schedules))

-- name: mark_cursors
UPDATE cursors
SET frozen = :frozen
WHERE namespace = :namespace AND schedule_id IN (SELECT value FROM json_each(:schedules))

-- What runs is marked too, so that its retry is held.
-- name: hold
UPDATE runs
SET held = held | 2
WHERE rowid IN (
    SELECT r.rowid FROM json_each(:schedules) s
    CROSS JOIN runs r INDEXED BY runs_open ON r.namespace = :namespace AND r.schedule_id = s.value
    WHERE r.state IN ('planned', 'ready') AND r.fence = 0 AND r.origin IN ('live', 'manual')
    UNION ALL
    SELECT r.rowid FROM json_each(:schedules) s
    CROSS JOIN runs r INDEXED BY runs_behind ON r.namespace = :namespace AND r.schedule_id = s.value
    WHERE r.state IN ('planned', 'ready') AND r.fence = 0 AND r.origin NOT IN ('live', 'manual')
    UNION ALL
    SELECT r.rowid FROM json_each(:schedules) s
    CROSS JOIN runs r INDEXED BY runs_unfinished ON r.namespace = :namespace AND r.schedule_id = s.value
    WHERE r.fence > 0 AND r.state IN ('ready', 'running')
)

-- name: let_go
UPDATE runs
SET held = held & ~2
WHERE rowid IN (
    SELECT r.rowid FROM json_each(:schedules) s
    CROSS JOIN runs r INDEXED BY runs_held ON r.namespace = :namespace AND r.schedule_id = s.value
    WHERE r.held <> 0 AND r.held & 2 <> 0
)
