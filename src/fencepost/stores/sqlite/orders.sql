-- What people order about single runs.

-- name: skip
UPDATE runs
SET state = 'skipped', reason = :reason, finished_at = :now, held = 0
WHERE namespace = :namespace AND run_key = :run_key AND state IN ('planned', 'ready') AND fence = 0
RETURNING namespace, schedule_id

-- name: hold
UPDATE runs
SET held = held | 1
WHERE namespace = :namespace AND run_key = :run_key AND state IN ('planned', 'ready') AND held & 1 = 0
RETURNING 1

-- name: release
UPDATE runs
SET held = held & ~1, run_at = max(run_at, :now)
WHERE namespace = :namespace AND run_key = :run_key AND state IN ('planned', 'ready') AND held & 1 <> 0
RETURNING 1

-- Its attempts stay and count on; all else is as if nobody had begun it. What is not ended is not touched.
-- name: send_again
UPDATE runs
SET state = 'ready', reason = NULL, fence = 0, priority = :priority, run_at = :run_at, started_at = NULL,
    finished_at = NULL, alive_until = NULL, worker = NULL, error = NULL, progress = NULL, note = NULL,
    progress_at = NULL, cancel_requested = 0,
    origin = :origin, met = NULL, begun_at = NULL, spent = attempt,
    backfill_id = :backfill_id,
    held = coalesce((SELECT iif(s.frozen, 2, 0) FROM schedules s
                     WHERE s.namespace = runs.namespace AND s.schedule_id = runs.schedule_id), 0)
WHERE namespace = :namespace AND run_key = :run_key AND finished_at IS NOT NULL
RETURNING 1

-- name: is_replayable
SELECT 1
FROM runs
WHERE namespace = :namespace AND run_key = :run_key AND finished_at IS NOT NULL AND NOT stripped
  AND state IN (SELECT value FROM json_each(:only))

-- name: version
SELECT v.job, v.spec, coalesce(j.queue, :queue) AS queue, coalesce(j.priority, :priority) AS priority, s.frozen
FROM schedule_versions v
JOIN schedules s ON s.namespace = v.namespace AND s.schedule_id = v.schedule_id
LEFT JOIN jobs j ON j.namespace = v.namespace AND j.name = v.job
WHERE v.namespace = :namespace AND v.schedule_id = :schedule_id AND v.version = :version

-- name: restore
INSERT INTO runs (namespace, run_key, schedule_id, job, fire_time, version, state, reason, queue, priority, run_at,
                  finished_at, held)
SELECT :namespace, :run_key, :schedule_id, :job, :fire_time, :version, :state, :reason, :queue, :priority, :run_at,
       :finished_at, :held
WHERE EXISTS (
    SELECT 1 FROM schedule_versions
    WHERE namespace = :namespace AND schedule_id = :schedule_id AND version = :version
      AND in_force_from < :fire_time AND (in_force_until IS NULL OR in_force_until >= :fire_time)
)
AND NOT EXISTS (
    SELECT 1 FROM runs INDEXED BY runs_by_schedule
    WHERE namespace = :namespace AND schedule_id = :schedule_id AND fire_time = :fire_time
      AND state <> 'withdrawn'
)
AND NOT EXISTS (
    SELECT 1 FROM missed_ranges
    WHERE namespace = :namespace AND schedule_id = :schedule_id
      AND first_at <= :fire_time AND last_at >= :fire_time
)
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING 1

-- Ticks were written beside the planner, whose plans in flight are to be dropped.
-- name: touch_cursors
UPDATE cursors
SET touched = touched + 1
WHERE namespace = :namespace AND schedule_id = :schedule_id AND next_fire_at IS NOT NULL
