-- Reading the ledger. A list finds its rows by one index and then shows them.
-- name: shown
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.fire_time, r.version,
       iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) AS state,
       r.reason, r.attempt, r.fence, r.epoch, r.run_at, r.started_at, r.finished_at, r.worker, r.error,
       r.queue, r.priority, r.payload, r.progress, r.cancel_requested, r.origin, r.held, r.blocked_by, r.first_started_at,
       r.attempts_before_replay, r.backfill_id, r.alive_until, r.note, r.progress_at, r.expires_at,
       r.due_at, r.created_at, v.spec
FROM json_each(:found) AS found
CROSS JOIN runs r ON r.rowid = found.value
LEFT JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
ORDER BY found.key

-- A list goes through one index, in the order of fire times where that has it. Each ends in `wanted`, or in `edge`,
-- which says how far it goes at most: no further than that many runs, and the others of the last one's fire time.
-- name: list
FROM runs INDEXED BY runs_by_time WHERE

-- name: list_of_schedule
FROM runs INDEXED BY runs_by_schedule WHERE schedule_id = :schedule_id AND

-- name: list_of_backfill
FROM runs INDEXED BY runs_of_backfill WHERE backfill_id = :backfill_id AND

-- name: list_held
FROM runs INDEXED BY runs_held WHERE held <> 0 AND

-- name: list_dead
FROM runs INDEXED BY runs_dead WHERE state = 'dead' AND

-- name: edge
namespace = :namespace AND fire_time >= :since AND fire_time < :until
ORDER BY fire_time DESC
LIMIT 1 OFFSET :searched_max - 1

-- name: wanted
namespace = :namespace AND fire_time >= :since AND fire_time < :until
AND (:schedule_id IS NULL OR schedule_id = :schedule_id)
AND (:job IS NULL OR job = :job)
AND (:state IS NULL OR {shown_state} = :state)
AND (:origin IS NULL OR origin = :origin)
AND (:error IS NULL OR instr(error, :error) > 0)
AND (:backfill_id IS NULL OR backfill_id = :backfill_id)
AND (:held IS NULL OR (held <> 0) = :held)
AND (fire_time, run_key) < (:after, :after_key)
AND (:text IS NULL OR instr(run_key, :text) > 0)
AND (:worker IS NULL OR worker = :worker)
AND (:queue IS NULL OR queue = :queue)
AND (:states IS NULL OR {shown_state} IN (SELECT value FROM json_each(:states)))
ORDER BY fire_time DESC, run_key DESC
LIMIT :limit

-- name: queues
SELECT queue, count(*) FILTER (WHERE kind = 0) AS ready, count(*) FILTER (WHERE kind = 1) AS waiting,
       count(*) FILTER (WHERE kind = 2) AS running,
       (:now - min(run_at) FILTER (WHERE kind = 0)) / 1e6 AS oldest_ready_s,
       (:now - min(run_at) FILTER (WHERE kind = 1)) / 1e6 AS oldest_waiting_s
FROM (
    SELECT queue, run_at, 0 AS kind FROM runs INDEXED BY runs_due_direct
    WHERE {due_direct} AND namespace = :namespace AND run_at <= :now
    UNION ALL
    SELECT queue, run_at, 0 FROM runs INDEXED BY runs_due_ticks
    WHERE {due_ticks} AND namespace = :namespace AND run_at <= :now
    UNION ALL
    SELECT queue, run_at, 1 FROM runs INDEXED BY runs_limited WHERE held = 16 AND namespace = :namespace
    UNION ALL
    SELECT queue, run_at, 1 FROM runs INDEXED BY runs_lined WHERE held = 32 AND namespace = :namespace
    UNION ALL
    SELECT queue, run_at, 2 FROM runs INDEXED BY runs_running WHERE state = 'running' AND namespace = :namespace
)
GROUP BY queue
ORDER BY queue
