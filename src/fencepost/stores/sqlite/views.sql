-- name: fired
SELECT fire_time, {shown_state} AS state, run_at, due_at, first_started_at, started_at, finished_at
FROM runs INDEXED BY runs_by_time
WHERE namespace = :namespace AND fire_time BETWEEN :since AND :now

-- name: tally_by_job
SELECT job, {shown_state} AS state, count(*) AS runs
FROM runs INDEXED BY runs_by_time
WHERE namespace = :namespace AND fire_time BETWEEN :since AND :now
GROUP BY 1, 2

-- By the indexes of what may be taken: what is held is in neither.
-- name: overdue
SELECT count(*) AS runs
FROM (
    SELECT queue, fire_time FROM runs INDEXED BY runs_due_direct
    WHERE {due_direct} AND namespace = :namespace AND run_at < :by
    UNION ALL
    SELECT queue, fire_time FROM runs INDEXED BY runs_due_ticks
    WHERE {due_ticks} AND namespace = :namespace AND run_at < :by
) AS free
WHERE free.fire_time >= :since
  AND NOT EXISTS (
      SELECT 1 FROM freezes
      WHERE namespace = :namespace AND (kind = 'all' OR (kind = 'queue' AND value = free.queue))
  )
