-- Writing the ledger, and what workers ask of it.

-- New rows have numbers behind the last one.
-- name: last
SELECT coalesce(max(rowid), 0) FROM runs

-- name: enqueue
INSERT INTO runs (namespace, run_key, job, fire_time, state, queue, priority, run_at, payload, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?4, ?8, ?9)
ON CONFLICT (namespace, run_key) DO NOTHING

-- name: behind
SELECT run_key FROM runs WHERE rowid > ?

-- Ends that leave nothing else to be written: the tickets are compared where they are used up. What follows a run is
-- enqueued by the rules.
-- name: finish_plain
UPDATE runs
SET state = given.value ->> 4, reason = given.value ->> 5, error = NULL, finished_at = :now,
    alive_until = NULL, held = 0
FROM json_each(:given) AS given
WHERE runs.namespace = given.value ->> 0 AND runs.run_key = given.value ->> 1
  AND runs.attempt = given.value ->> 2 AND runs.fence = given.value ->> 3
  AND runs.state = 'running'
  AND NOT EXISTS (SELECT 1 FROM successors s WHERE s.namespace = runs.namespace AND s.predecessor = runs.job)
RETURNING namespace, run_key, schedule_id, job, slot, awaited

-- name: any_waiting
SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_parked WHERE held = 8)
       OR EXISTS (SELECT 1 FROM runs INDEXED BY runs_limited WHERE held = 16),
       EXISTS (SELECT 1 FROM successors)
