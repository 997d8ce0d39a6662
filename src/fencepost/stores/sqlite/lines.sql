-- name: limited_jobs
SELECT job FROM limits WHERE namespace = :namespace

-- The first of each line, in each queue, that this worker may take from.
-- name: heads
SELECT l.next_at, r.priority, r.run_at, r.queue, l.terms
FROM limits l
CROSS JOIN json_each(:queues) q
CROSS JOIN runs r ON r.rowid = (
    SELECT rowid FROM runs INDEXED BY runs_lined
    WHERE held = 32 AND namespace = l.namespace AND job = l.job AND queue = q.value
    ORDER BY priority, run_at LIMIT 1
)
WHERE l.namespace = :namespace AND l.job IN (SELECT value FROM json_each(:jobs))

-- name: line_up
UPDATE runs SET held = 32 WHERE rowid IN (SELECT value FROM json_each(:rows))

-- name: stamp
UPDATE runs SET slot = :slot WHERE rowid = :row_id
