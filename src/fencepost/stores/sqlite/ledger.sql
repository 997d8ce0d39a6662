-- Writing the ledger, and what workers ask of it.

-- name: enqueue
INSERT INTO runs (namespace, run_key, job, fire_time, state, queue, priority, run_at, payload)
VALUES (:namespace, :run_key, :job, :run_at, iif(:run_at > :now, 'planned', 'ready'), :queue, :priority, :run_at,
        :payload)
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING :place

-- The one place where tickets are compared: what it does not find, nothing after it changes.
-- name: shown
SELECT :place, rowid, state, alive_until, cancel_requested
FROM runs
WHERE namespace = :namespace AND run_key = :run_key AND attempt = :attempt AND fence = :fence

-- name: pulse
UPDATE runs SET alive_until = :alive_until WHERE rowid = :row_id

-- name: report_progress
UPDATE runs
SET progress = coalesce(:progress, progress), note = coalesce(:note, note), progress_at = :now
WHERE rowid = :row_id

-- name: keep_attempt
INSERT INTO attempts (namespace, run_key, attempt, fence, worker, started_at, finished_at, outcome, error, detail, output)
SELECT namespace, run_key, attempt, fence, worker, started_at, :now, :outcome, :error, :detail, :output
FROM runs
WHERE rowid = :row_id

-- Ends that leave nothing else to be written: the tickets are compared where they are used up.
-- name: finish_plain
UPDATE runs
SET state = given.value ->> 4, reason = given.value ->> 5, error = NULL, finished_at = :now,
    alive_until = NULL, held = 0
FROM json_each(:given) AS given
WHERE runs.namespace = given.value ->> 0 AND runs.run_key = given.value ->> 1
  AND runs.attempt = given.value ->> 2 AND runs.fence = given.value ->> 3
  AND runs.state = 'running'
RETURNING namespace, run_key, schedule_id

-- name: finish
UPDATE runs
SET state = :state, reason = :reason, error = :error, finished_at = :now, alive_until = NULL, held = 0
WHERE rowid = :row_id
RETURNING namespace, schedule_id

-- name: requeue
UPDATE runs
SET state = 'ready', reason = :reason, error = :error, run_at = :run_at, worker = NULL, alive_until = NULL
WHERE rowid = :row_id

-- name: rescue
UPDATE runs
SET state = :state, reason = :reason, fence = :new_fence, alive_until = NULL,
    run_at = iif(:state = 'ready', :run_at, run_at), worker = iif(:state = 'ready', NULL, worker),
    error = :error, finished_at = iif(:state = 'ready', NULL, :now),
    held = iif(:state = 'ready', held, 0)
WHERE rowid = :row_id
RETURNING namespace, schedule_id
