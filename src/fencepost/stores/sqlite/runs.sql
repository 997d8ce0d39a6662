-- Reading the ledger. A list finds its rows by one index and then shows them.

-- name: shown
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version,
       iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) AS state,
       r.reason, r.attempt, r.fence, r.epoch, r.run_at, r.started_at, r.finished_at, r.worker, r.error,
       r.queue, r.priority, r.payload, r.progress, r.cancel_requested, r.origin, r.held, r.met, r.begun_at,
       r.spent, r.backfill_id, r.alive_until, v.spec
FROM json_each(:found) AS found
CROSS JOIN runs r ON r.rowid = found.value
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
ORDER BY found.key

-- name: get
SELECT rowid FROM runs WHERE namespace = :namespace AND run_key = :run_key

-- name: attempts
SELECT attempt, fence, worker, started_at, finished_at, outcome, error, detail, output
FROM attempts
WHERE namespace = :namespace AND run_key = :run_key
ORDER BY attempt

-- Each of the lists ends in `wanted`.
-- name: list
SELECT rowid FROM runs INDEXED BY runs_by_time WHERE

-- name: list_of_schedule
SELECT rowid FROM runs INDEXED BY runs_by_schedule WHERE schedule_id = :schedule_id AND

-- name: list_of_backfill
SELECT rowid FROM runs INDEXED BY runs_of_backfill WHERE backfill_id = :backfill_id AND

-- name: list_held
SELECT rowid FROM runs INDEXED BY runs_held WHERE held <> 0 AND

-- name: list_dead
SELECT rowid FROM runs INDEXED BY runs_dead WHERE state = 'dead' AND

-- name: wanted
namespace = :namespace AND fire_time >= :since AND fire_time < :until
AND (:schedule_id IS NULL OR schedule_id = :schedule_id)
AND (:job IS NULL OR job = :job)
AND (:state IS NULL OR iif(state = 'planned' AND run_at <= :now, 'ready', state) = :state)
AND (:origin IS NULL OR origin = :origin)
AND (:error IS NULL OR instr(error, :error) > 0)
AND (:backfill_id IS NULL OR backfill_id = :backfill_id)
AND (:held IS NULL OR (held <> 0) = :held)
ORDER BY fire_time DESC, run_key DESC
LIMIT :limit

-- The bound by `since` must not be the one that the index is entered by: a later page begins later.
-- name: ticks
SELECT rowid
FROM runs INDEXED BY runs_by_schedule
WHERE namespace = :namespace AND schedule_id = :schedule_id AND +fire_time > :since AND fire_time <= :until
  AND (fire_time, run_key) > (:after, :after_key)
ORDER BY fire_time, run_key
LIMIT :limit

-- name: missed_ranges
SELECT namespace, schedule_id, version, first_at, last_at, ticks, reason
FROM missed_ranges
WHERE namespace = :namespace AND schedule_id = :schedule_id AND last_at > :since AND first_at <= :until
ORDER BY first_at, version

-- name: running
SELECT rowid
FROM runs INDEXED BY runs_running
WHERE state = 'running' AND namespace = :namespace
ORDER BY alive_until, run_key
LIMIT :limit

-- name: typical_run_s
SELECT avg(took)
FROM (
    SELECT (finished_at - started_at) / 1e6 AS took FROM runs INDEXED BY runs_succeeded
    WHERE namespace = :namespace AND schedule_id = :schedule_id AND state = 'succeeded'
    ORDER BY fire_time DESC
    LIMIT :typical_of
)

-- name: depth
SELECT count(*) FILTER (WHERE state <> 'running') AS ready, count(*) FILTER (WHERE state = 'running') AS running,
       (:now - min(run_at) FILTER (WHERE state <> 'running')) / 1e6 AS oldest_ready_s
FROM (
    SELECT state, run_at FROM runs INDEXED BY runs_due_direct
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
      AND namespace = :namespace AND run_at <= :now
    UNION ALL
    SELECT state, run_at FROM runs INDEXED BY runs_due_ticks
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
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
