-- Backfills, their runs, and the ranges of missed ticks that they fill in.

-- name: start
INSERT INTO backfills
    (namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, next_run_at, created_at)
SELECT s.namespace, s.schedule_id, :since, :until, :mode, :at_once_max, :every_s, 'active', :since, :now, :now
FROM schedules s
WHERE s.namespace = :namespace AND s.schedule_id = :schedule_id
RETURNING backfill_id

-- name: get
SELECT backfill_id, namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, created_at
FROM backfills
WHERE backfill_id = :backfill_id AND namespace = :namespace

-- name: list
SELECT backfill_id, namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, created_at
FROM backfills INDEXED BY backfills_by_namespace
WHERE namespace = :namespace AND backfill_id < coalesce(:before_id, 9223372036854775807)
ORDER BY backfill_id DESC
LIMIT :limit

-- name: active
SELECT backfill_id, namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, created_at
FROM backfills INDEXED BY backfills_active
WHERE state = 'active'
ORDER BY backfill_id
LIMIT :limit

-- name: runs
SELECT iif(state = 'planned' AND run_at <= :now, 'ready', state) AS shown, count(*)
FROM runs INDEXED BY runs_of_backfill
WHERE backfill_id = :backfill_id
GROUP BY shown

-- name: mark
SELECT next_run_at
FROM backfills
WHERE backfill_id = :backfill_id AND state = 'active' AND filled_through = :filled_through

-- name: advance
UPDATE backfills
SET filled_through = :through, next_run_at = :next_run_at, state = iif(:through >= until, 'filled', 'active')
WHERE backfill_id = :backfill_id

-- name: latest
SELECT run_key, state
FROM runs INDEXED BY runs_by_schedule
WHERE namespace = :namespace AND schedule_id = :schedule_id AND fire_time = :fire_time AND state <> 'withdrawn'
ORDER BY version DESC
LIMIT 1

-- name: range_at
SELECT rowid, ticks
FROM missed_ranges
WHERE namespace = :namespace AND schedule_id = :schedule_id AND first_at <= :fire_time AND last_at >= :fire_time
LIMIT 1

-- name: shrink_range
UPDATE missed_ranges SET ticks = ticks - 1 WHERE rowid = :row_id

-- name: drop_range
DELETE FROM missed_ranges WHERE rowid = :row_id AND ticks = 0

-- name: is_there
SELECT 1 FROM runs WHERE namespace = :namespace AND run_key = :run_key

-- name: fill
INSERT INTO runs (namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at, origin, held,
                  backfill_id)
VALUES (:namespace, :run_key, :schedule_id, :job, :fire_time, :version, 'ready', :queue, :priority, :run_at, 'backfill',
        iif(:frozen, 2, 0), :backfill_id)

-- name: cancel
UPDATE backfills
SET state = 'cancelled'
WHERE backfill_id = :backfill_id AND namespace = :namespace AND state <> 'cancelled'
RETURNING 1

-- What nobody has begun is missed; a run that waits for its next attempt is cancelled.
-- name: give_up
UPDATE runs INDEXED BY runs_of_backfill
SET state = 'missed', reason = :reason, finished_at = :now, held = 0
WHERE backfill_id = :backfill_id AND namespace = :namespace AND state IN ('planned', 'ready') AND fence = 0
RETURNING namespace, schedule_id

-- name: waiting
SELECT run_key
FROM runs INDEXED BY runs_of_backfill
WHERE backfill_id = :backfill_id AND namespace = :namespace AND state IN ('planned', 'ready')
