-- The lines of limited jobs. A run stands in the line of its job (held by 32) or waits for a slot (16); what runs and
-- counts is what the ledger says is running, with a slot.

-- name: limits
SELECT job, terms, paid_until, next_at FROM limits WHERE namespace = :namespace

-- name: pay
UPDATE limits
SET paid_until = :paid_until, next_at = :next_at
WHERE namespace = :namespace AND job = :job

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

-- name: line
SELECT r.rowid AS row_id, r.run_key, r.queue, r.priority, r.run_at, r.payload, r.reason, v.spec,
       r.schedule_id IS NOT NULL AND r.fence = 0 AS is_tick
FROM runs r INDEXED BY runs_lined
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
WHERE r.held = 32 AND r.namespace = :namespace AND r.job = :job AND r.queue = :queue
ORDER BY r.priority, r.run_at
LIMIT :limit

-- name: line_up
UPDATE runs SET held = 32 WHERE rowid IN (SELECT value FROM json_each(:rows))

-- name: hold
UPDATE runs SET held = (held & ~56) | :hold, slot = :slot, reason = :reason WHERE rowid = :row_id

-- name: hold_tick
UPDATE runs
SET held = (held & ~56) | :hold, slot = :slot, reason = :reason
WHERE namespace = :namespace AND run_key = :run_key

-- name: free
UPDATE runs SET held = 0 WHERE rowid IN (SELECT value FROM json_each(:rows))

-- name: free_tick
UPDATE runs SET held = 0 WHERE namespace = :namespace AND run_key = :run_key

-- name: stamp
UPDATE runs SET slot = :slot WHERE rowid = :row_id

-- name: running
SELECT slot, count(*)
FROM runs INDEXED BY runs_in_slots
WHERE slot IS NOT NULL AND state = 'running' AND namespace = :namespace AND job = :job
GROUP BY slot

-- name: any_limited
SELECT 1 FROM runs INDEXED BY runs_limited WHERE held = 16 LIMIT 1

-- name: slots_of
SELECT DISTINCT r.namespace, r.job, r.slot
FROM json_each(:runs) AS given
CROSS JOIN runs r ON r.namespace = given.value ->> 0 AND r.run_key = given.value ->> 1
WHERE r.slot IS NOT NULL AND r.state <> 'running'

-- name: place
SELECT l.concurrency - (
    SELECT count(*) FROM runs INDEXED BY runs_in_slots
    WHERE slot IS NOT NULL AND state = 'running' AND namespace = l.namespace AND job = l.job AND slot = :slot
)
FROM limits l
WHERE l.namespace = :namespace AND l.job = :job

-- A tick has to be judged, so it is due again; all else gets into line.
-- name: fill
UPDATE runs
SET held = iif(schedule_id IS NOT NULL AND fence = 0, 0, 32)
WHERE rowid IN (
    SELECT rowid FROM runs INDEXED BY runs_limited
    WHERE held = 16 AND namespace = :namespace AND job = :job AND slot = :slot
    ORDER BY priority, run_at LIMIT :place
)
RETURNING 1

-- The next slot that somebody waits for is a leap through the index.
-- name: next_slot
SELECT namespace, job, slot
FROM runs INDEXED BY runs_limited
WHERE held = 16 AND (namespace, job, slot) > (:namespace, :job, :slot)
ORDER BY namespace, job, slot
LIMIT 1

-- name: limited_schedules
SELECT DISTINCT namespace, schedule_id
FROM runs INDEXED BY runs_limited_ticks
WHERE held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0
LIMIT :limit

-- name: ring_ticks
UPDATE runs
SET held = 0
WHERE rowid IN (
    SELECT (SELECT rowid FROM runs INDEXED BY runs_limited_ticks
            WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
              AND held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0
            ORDER BY fire_time, run_key LIMIT 1)
    FROM json_each(:schedules) s
)
RETURNING 1

-- What began before its job had these limits. Without a job it is those of every limited job that count for nothing.
-- name: unstamped
SELECT r.rowid AS row_id, r.payload, v.spec, l.terms
FROM runs r INDEXED BY runs_running
CROSS JOIN limits l ON l.namespace = r.namespace AND l.job = r.job
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
WHERE r.state = 'running' AND iif(:job IS NULL, r.slot IS NULL, r.namespace = :namespace AND r.job = :job)
