-- How the demo ends the ticks of its past, all at once: what its workers would have written one by one.

-- name: due
SELECT rowid AS row_id, run_key, schedule_id, fire_time, run_at, attempt, origin
FROM runs
WHERE namespace = :namespace AND state IN ('planned', 'ready') AND held = 0 AND schedule_id IS NOT NULL
  AND run_at <= :until
ORDER BY run_at, fire_time

-- name: end
UPDATE runs
SET state = :state, reason = :reason, blocked_by = :blocked_by, attempt = :attempt, fence = :fence, worker = :worker,
    started_at = :started_at, first_started_at = :first_started_at, finished_at = :finished_at, error = :error
WHERE rowid = :row_id

-- name: keep_attempt
INSERT INTO attempts (namespace, run_key, attempt, fence, worker, started_at, finished_at, outcome, error, detail)
VALUES (:namespace, :run_key, :attempt, :fence, :worker, :started_at, :finished_at, :outcome, :error, :detail)

-- name: keep_log
INSERT INTO run_logs (namespace, run_key, attempt, number, first_line, lines, text, at)
VALUES (:namespace, :run_key, :attempt, 1, 0, :lines, :text, :at)

-- name: fences
SELECT value FROM sequences WHERE name = 'fences'

-- name: move_fences
UPDATE sequences SET value = :value WHERE name = 'fences'
