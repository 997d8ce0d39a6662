-- Reading the ledger.

-- name: get
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version,
       iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) AS state,
       r.reason, r.attempt, r.fence, r.epoch, r.run_at, r.started_at, r.finished_at, r.worker, r.error,
       r.queue, r.priority, r.payload, r.progress, r.cancel_requested, v.spec
FROM runs r
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
WHERE r.namespace = :namespace AND r.run_key = :run_key

-- name: attempts
SELECT attempt, fence, worker, started_at, finished_at, outcome, error, detail, output
FROM attempts
WHERE namespace = :namespace AND run_key = :run_key
ORDER BY attempt

-- name: list
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version,
       iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) AS state,
       r.reason, r.attempt, r.fence, r.epoch, r.run_at, r.started_at, r.finished_at, r.worker, r.error,
       r.queue, r.priority, r.payload, r.progress, r.cancel_requested, v.spec
FROM runs r INDEXED BY runs_by_time
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
WHERE r.namespace = :namespace AND r.fire_time >= :since AND r.fire_time < :until
  AND (:job IS NULL OR r.job = :job)
  AND (:state IS NULL OR iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) = :state)
ORDER BY r.fire_time DESC, r.run_key DESC
LIMIT :limit

-- name: list_of_schedule
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version,
       iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) AS state,
       r.reason, r.attempt, r.fence, r.epoch, r.run_at, r.started_at, r.finished_at, r.worker, r.error,
       r.queue, r.priority, r.payload, r.progress, r.cancel_requested, v.spec
FROM runs r INDEXED BY runs_by_schedule
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
WHERE r.namespace = :namespace AND r.schedule_id = :schedule_id AND r.fire_time >= :since AND r.fire_time < :until
  AND (:job IS NULL OR r.job = :job)
  AND (:state IS NULL OR iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) = :state)
ORDER BY r.fire_time DESC, r.run_key DESC
LIMIT :limit

-- name: depth
SELECT count(*) FILTER (WHERE state <> 'running') AS ready, count(*) FILTER (WHERE state = 'running') AS running,
       (:now - min(run_at) FILTER (WHERE state <> 'running')) / 1e6 AS oldest_ready_s
FROM (
    SELECT state, run_at FROM runs INDEXED BY runs_due_direct
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0)
      AND namespace = :namespace AND run_at <= :now
    UNION ALL
    SELECT state, run_at FROM runs INDEXED BY runs_due_ticks
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
      AND namespace = :namespace AND run_at <= :now
    UNION ALL
    SELECT state, run_at FROM runs INDEXED BY runs_running
    WHERE state = 'running' AND namespace = :namespace
)

-- name: tally
SELECT iif(state = 'planned' AND run_at <= :now, 'ready', state) AS state, count(*) AS runs
FROM runs INDEXED BY runs_by_time
WHERE namespace = :namespace AND fire_time BETWEEN :since AND :now
GROUP BY 1
