-- Claiming. Every probe is a range of one partial index up to the store's time: what is not due is never walked.

-- A run by hand that was to begin before now is for the reaper to end.
-- part: in_time(now)
(expires_at IS NULL OR expires_at > {now} OR first_started_at IS NOT NULL)

-- part: due_direct_in_time
{due_direct} AND {in_time(:now)}

-- part: first(index, runs, sign)
(SELECT min(run_at) FROM runs INDEXED BY {index}
 WHERE {{runs}} AND namespace = :namespace AND queue = q.value AND priority = p.value AND run_at {sign} :now
   AND job IN (SELECT value FROM json_each(:jobs)))

-- name: outlook
SELECT p.value AS priority, q.value AS queue,
       {first(runs_due_direct; due_direct_in_time; <=)} AS direct,
       {first(runs_due_ticks; due_ticks; <=)} AS tick,
       {first(runs_due_direct; due_direct; >)} AS next_direct,
       {first(runs_due_ticks; due_ticks; >)} AS next_tick
FROM json_each(:queues) q, json_each(:priorities) p

-- name: due_direct
SELECT run_at, run_key, rowid, job
FROM runs INDEXED BY runs_due_direct
WHERE {due_direct} AND {in_time(:by)}
  AND namespace = :namespace AND queue = :queue AND priority = :priority AND run_at <= :by
  AND job IN (SELECT value FROM json_each(:jobs))
ORDER BY run_at

-- name: due_ticks
SELECT run_at, namespace, schedule_id
FROM runs INDEXED BY runs_due_ticks
WHERE {due_ticks}
  AND namespace = :namespace AND queue = :queue AND priority = :priority AND run_at <= :by
  AND job IN (SELECT value FROM json_each(:jobs))
ORDER BY run_at

-- name: picked
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version, r.attempt + 1 AS attempt,
       :fence + picked.key AS fence, r.epoch, r.payload, v.spec, r.run_at,
       (SELECT p.fire_time FROM runs p INDEXED BY runs_succeeded
        WHERE p.namespace = r.namespace AND p.schedule_id = r.schedule_id AND p.state = 'succeeded'
        ORDER BY p.fire_time DESC LIMIT 1) AS previous,
       coalesce(r.first_started_at, :now) AS first_started_at, r.attempts_before_replay, r.queue, r.origin
FROM json_each(:picked) AS picked
CROSS JOIN runs r ON r.rowid = picked.value
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
ORDER BY picked.key

-- name: start
UPDATE runs
SET state = 'running', attempt = attempt + 1, fence = :fence + picked.key, worker = :worker,
    started_at = :now, alive_until = :alive_until, first_started_at = coalesce(first_started_at, :now),
    held = held & ~56, slot = NULL, reason = NULL
FROM json_each(:picked) AS picked
WHERE runs.rowid = picked.value

-- The queues of which nothing may start; NULL is all of them.
-- name: stopped_queues
SELECT iif(kind = 'queue', value, NULL) FROM freezes WHERE namespace = :namespace AND kind IN ('all', 'queue')

-- name: limited_jobs
SELECT job FROM limits WHERE namespace = :namespace

-- Due runs of limited jobs get into the lines of their jobs.
-- name: line_up
UPDATE runs SET held = 32 WHERE rowid IN (SELECT value FROM json_each(:rows))

-- What a run counts for.
-- name: stamp
UPDATE runs SET slot = :slot WHERE rowid = :row_id
