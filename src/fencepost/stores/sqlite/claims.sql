-- Claiming. Every probe is a range of one partial index up to the store's time: what is not due is never walked.

-- name: outlook
SELECT p.value AS priority, q.value AS queue,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_direct
        WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at <= :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS direct,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_ticks
        WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at <= :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS tick,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_direct
        WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at > :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS next_direct,
       (SELECT min(run_at) FROM runs INDEXED BY runs_due_ticks
        WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
          AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at > :now
          AND job IN (SELECT value FROM json_each(:jobs))) AS next_tick
FROM json_each(:queues) q, json_each(:priorities) p

-- name: due_direct
SELECT run_at, run_key, rowid, job
FROM runs INDEXED BY runs_due_direct
WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
  AND namespace = :namespace AND queue = :queue AND priority = :priority AND run_at <= :by
  AND job IN (SELECT value FROM json_each(:jobs))
ORDER BY run_at

-- name: due_ticks
SELECT run_at, namespace, schedule_id
FROM runs INDEXED BY runs_due_ticks
WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
  AND namespace = :namespace AND queue = :queue AND priority = :priority AND run_at <= :by
  AND (:jobs IS NULL OR job IN (SELECT value FROM json_each(:jobs)))
ORDER BY run_at

-- A lane is a namespace and a queue; the next one is a leap through the index.
-- name: next_lane
SELECT namespace, queue
FROM runs INDEXED BY runs_due_ticks
WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
  AND (namespace, queue) > (:namespace, :queue)
ORDER BY namespace, queue
LIMIT 1

-- name: picked
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version, r.attempt + 1 AS attempt,
       :fence + picked.key AS fence, r.epoch, r.run_at, r.payload, v.spec,
       coalesce(r.begun_at, :now) AS begun_at, r.spent, r.queue, r.origin,
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
    started_at = :now, alive_until = :alive_until, begun_at = coalesce(begun_at, :now),
    held = held & ~56, slot = NULL, reason = NULL
FROM json_each(:picked) AS picked
WHERE runs.rowid = picked.value

-- name: stopped_queues
SELECT iif(kind = 'queue', value, NULL) FROM freezes WHERE namespace = :namespace AND kind IN ('all', 'queue')
