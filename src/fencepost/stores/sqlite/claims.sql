-- Claiming. Every probe is a range of one partial index up to the store's time: what is not due is never walked.

-- name: outlook
SELECT p.value AS priority,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_direct
        WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0)
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at <= :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS direct,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_ticks
        WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at <= :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS tick,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_direct
        WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0)
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at > :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS next_direct,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_ticks
        WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at > :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS next_tick
FROM json_each(:queues) q, json_each(:priorities) p

-- name: due_direct
SELECT run_at, run_key, rowid
FROM runs INDEXED BY runs_due_direct
WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0)
  AND namespace = :namespace AND queue = :queue AND priority = :priority AND run_at <= :by
  AND job IN (SELECT value FROM json_each(:jobs))
ORDER BY run_at

-- name: due_ticks
SELECT run_at, namespace, schedule_id
FROM runs INDEXED BY runs_due_ticks
WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
  AND namespace = :namespace AND queue = :queue AND priority = :priority AND run_at <= :by
  AND (:jobs IS NULL OR job IN (SELECT value FROM json_each(:jobs)))
ORDER BY run_at

-- A lane is a namespace and a queue; the next one is a leap through the index.
-- name: next_lane
SELECT namespace, queue
FROM runs INDEXED BY runs_due_ticks
WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
  AND (namespace, queue) > (:namespace, :queue)
ORDER BY namespace, queue
LIMIT 1

-- name: facts
SELECT s.value ->> 0 AS namespace, s.value ->> 1 AS schedule_id,
       (SELECT fire_time FROM runs INDEXED BY runs_open
        WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
          AND state IN ('planned', 'ready') AND fence = 0 AND run_at <= :now
        ORDER BY fire_time DESC LIMIT 1) AS newest_due,
       (SELECT fire_time FROM runs INDEXED BY runs_succeeded
        WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1 AND state = 'succeeded'
        ORDER BY fire_time DESC LIMIT 1) AS previous,
       last.run_key AS last_key, last.finished_at AS last_finished_at
FROM json_each(:schedules) s
LEFT JOIN runs last ON last.rowid = (
    SELECT rowid FROM runs INDEXED BY runs_finished
    WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1 AND fence > 0 AND finished_at IS NOT NULL
    ORDER BY finished_at DESC LIMIT 1
)
ORDER BY s.key

-- Without queues and jobs every due tick counts.
-- name: facts_due
SELECT place, row_id, run_key, fire_time, run_at, spec
FROM (
    SELECT s.key AS place, r.rowid AS row_id, r.run_key, r.fire_time, r.run_at, v.spec,
           row_number() OVER (PARTITION BY s.key ORDER BY r.fire_time, r.run_key) AS nth
    FROM json_each(:schedules) s
    CROSS JOIN runs r INDEXED BY runs_open
        ON r.namespace = s.value ->> 0 AND r.schedule_id = s.value ->> 1
    CROSS JOIN schedule_versions v
        ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
    WHERE r.state IN ('planned', 'ready') AND r.fence = 0 AND r.run_at <= :now
      AND (:queues IS NULL OR r.queue IN (SELECT value FROM json_each(:queues)))
      AND (:jobs IS NULL OR r.job IN (SELECT value FROM json_each(:jobs)))
)
WHERE nth <= :due_max
ORDER BY place, nth

-- name: facts_unfinished
SELECT s.key AS place, r.run_key
FROM json_each(:schedules) s
CROSS JOIN runs r INDEXED BY runs_unfinished
    ON r.namespace = s.value ->> 0 AND r.schedule_id = s.value ->> 1
WHERE r.fence > 0 AND r.state IN ('ready', 'running')
ORDER BY s.key, r.fire_time

-- name: picked
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version, r.attempt + 1 AS attempt,
       :fence + picked.key AS fence, r.epoch, r.run_at, r.payload, v.spec,
       (SELECT p.fire_time FROM runs p INDEXED BY runs_succeeded
        WHERE p.namespace = r.namespace AND p.schedule_id = r.schedule_id AND p.state = 'succeeded'
        ORDER BY p.fire_time DESC LIMIT 1) AS previous
FROM json_each(:picked) AS picked
CROSS JOIN runs r ON r.rowid = picked.value
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
ORDER BY picked.key

-- name: start
UPDATE runs
SET state = 'running', attempt = attempt + 1, fence = :fence + picked.key, worker = :worker,
    started_at = :now, alive_until = :alive_until
FROM json_each(:picked) AS picked
WHERE runs.rowid = picked.value

-- name: end
UPDATE runs
SET state = :state, reason = :reason, finished_at = :now
WHERE rowid = :row_id

-- name: adopt
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version, r.attempt, r.fence, r.epoch,
       r.run_at, r.started_at, r.payload, v.spec,
       (SELECT p.fire_time FROM runs p INDEXED BY runs_succeeded
        WHERE p.namespace = r.namespace AND p.schedule_id = r.schedule_id AND p.state = 'succeeded'
        ORDER BY p.fire_time DESC LIMIT 1) AS previous
FROM runs r INDEXED BY runs_running
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
WHERE r.state = 'running' AND r.worker = :worker AND r.fence NOT IN (SELECT value FROM json_each(:known))
ORDER BY r.fence
