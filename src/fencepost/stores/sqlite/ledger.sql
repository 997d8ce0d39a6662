-- Writing the ledger, and what workers ask of it.

-- name: enqueue
INSERT INTO runs (namespace, run_key, job, fire_time, state, queue, priority, run_at, payload)
VALUES (:namespace, :run_key, :job, :run_at, iif(:run_at > :now, 'planned', 'ready'), :queue, :priority, :run_at,
        :payload)
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING :place

-- name: in_force
SELECT s.version, s.job, coalesce(s.queue, j.queue, :queue) AS queue,
       coalesce(s.priority, j.priority, :priority) AS priority, s.frozen
FROM schedules s
LEFT JOIN jobs j ON j.namespace = s.namespace AND j.name = s.job
WHERE s.namespace = :namespace AND s.schedule_id = :schedule_id AND s.state <> 'removed'

-- name: trigger
INSERT INTO runs (namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at, origin, held)
VALUES (:namespace, :run_key, :schedule_id, :job, :fire_time, :version, 'ready', :queue, :priority, :fire_time,
        'manual', iif(:frozen, 2, 0))
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING 1

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

-- name: swept_at
SELECT value FROM meta WHERE name = 'swept_at'

-- name: note_sweep
INSERT INTO meta (name, value) VALUES ('swept_at', :now)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: give_grace
UPDATE runs INDEXED BY runs_running
SET alive_until = :until
WHERE state = 'running' AND (:at_most OR coalesce(alive_until, 0) < :until)

-- name: forget_rates
UPDATE limits SET next_at = NULL

-- name: expired
SELECT r.namespace, r.run_key, r.attempt, r.fence, r.worker, r.cancel_requested, r.spent,
       (:now - coalesce(r.alive_until, 0)) / 1e6 AS silent_for_s, j.spec AS job_spec
FROM runs r INDEXED BY runs_running
LEFT JOIN jobs j ON j.namespace = r.namespace AND j.name = r.job
WHERE r.state = 'running' AND coalesce(r.alive_until, 0) < :now
ORDER BY r.alive_until, r.run_key
LIMIT :limit

-- name: rescue
UPDATE runs
SET state = :state, reason = :reason, fence = :new_fence, alive_until = NULL,
    run_at = iif(:state = 'ready', :run_at, run_at), worker = iif(:state = 'ready', NULL, worker),
    error = :error, finished_at = iif(:state = 'ready', NULL, :now),
    held = iif(:state = 'ready', held, 0)
WHERE rowid = :row_id
RETURNING namespace, schedule_id

-- name: cancel
UPDATE runs
SET state = 'cancelled', reason = :reason, error = NULL, finished_at = :now,
    fence = iif(fence > 0, :new_fence, 0), held = 0
WHERE namespace = :namespace AND run_key = :run_key AND state IN ('planned', 'ready')
RETURNING namespace, schedule_id

-- name: request_cancel
UPDATE runs
SET cancel_requested = 1
WHERE namespace = :namespace AND run_key = :run_key AND state = 'running'

-- A tick that ended ahead of its time stays until its fire time is as old: it must not be planned again.
-- A tick that a cursor may still come by stays, because its row is what would stop it; after a pause the next cursor can
-- begin where the pause did.
-- name: forgettable
SELECT run.rowid
FROM runs AS run INDEXED BY runs_ended
WHERE finished_at IS NOT NULL AND NOT stripped AND finished_at < :cutoff
  AND (schedule_id IS NULL OR fire_time < :cutoff)
  AND (
    run.state = 'withdrawn'
    OR (run.origin = 'manual' AND run.epoch = 0)
    OR NOT EXISTS (
        SELECT 1
        FROM cursors AS cursor
        JOIN schedules AS schedule USING (namespace, schedule_id)
        WHERE cursor.namespace = run.namespace
          AND cursor.schedule_id = run.schedule_id
          AND CASE
            WHEN cursor.until < run.fire_time THEN schedule.state = 'paused' AND cursor.version = schedule.version
            ELSE cursor.next_fire_at IS NOT NULL AND cursor.planned_through < run.fire_time
          END
    )
  )
ORDER BY finished_at
LIMIT :limit

-- name: forget_attempts
DELETE FROM attempts
WHERE (namespace, run_key) IN (
    SELECT namespace, run_key FROM runs WHERE rowid IN (SELECT value FROM json_each(:old))
)

-- name: forget_steps
DELETE FROM steps
WHERE (namespace, run_key) IN (
    SELECT namespace, run_key FROM runs WHERE rowid IN (SELECT value FROM json_each(:old))
)

-- name: forget_logs
DELETE FROM run_logs
WHERE (namespace, run_key) IN (
    SELECT namespace, run_key FROM runs WHERE rowid IN (SELECT value FROM json_each(:old))
)

-- name: strip
UPDATE runs
SET stripped = 1, payload = NULL, error = NULL, progress = NULL, note = NULL, progress_at = NULL
WHERE rowid IN (SELECT value FROM json_each(:old)) AND schedule_id IS NULL

-- name: forget
DELETE FROM runs WHERE rowid IN (SELECT value FROM json_each(:old)) AND schedule_id IS NOT NULL
RETURNING 1

-- name: forgotten_before
SELECT value FROM meta WHERE name = 'forgotten_before'

-- name: note_forgotten
INSERT INTO meta (name, value) VALUES ('forgotten_before', :cutoff)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)
