-- What boards, lists and live streams read.
-- name: strips
SELECT id.value AS schedule_id, r.run_key, r.fire_time,
       iif(r.state = 'planned' AND r.run_at <= :now, 'ready', r.state) AS state, r.origin,
       iif(r.state <> 'ready' AND r.started_at >= r.run_at, (r.started_at - r.run_at) / 1e6, NULL) AS late_s,
       (r.finished_at - r.started_at) / 1e6 AS took_s, r.attempt
FROM json_each(:schedules) AS id
CROSS JOIN runs r ON r.rowid IN (
    SELECT last.rowid FROM runs AS last INDEXED BY runs_by_schedule
    WHERE last.namespace = :namespace AND last.schedule_id = id.value AND last.fire_time <= :now
    ORDER BY last.fire_time DESC, last.run_key DESC
    LIMIT :each
)
ORDER BY id.key, r.fire_time, r.run_key

-- name: fired
SELECT fire_time, iif(state = 'planned' AND run_at <= :now, 'ready', state) AS state,
       iif(state <> 'ready' AND started_at >= run_at, (started_at - run_at) / 1e6, NULL) AS late_s
FROM runs INDEXED BY runs_by_time
WHERE namespace = :namespace AND fire_time BETWEEN :since AND :now

-- name: tally_by_job
SELECT job, iif(state = 'planned' AND run_at <= :now, 'ready', state) AS state, count(*) AS runs
FROM runs INDEXED BY runs_by_time
WHERE namespace = :namespace AND fire_time BETWEEN :since AND :now
GROUP BY 1, 2

-- Each kind of news by its own index, which knows the few rows of late.
-- name: news
SELECT r.namespace, r.run_key, r.schedule_id, r.job, r.state, r.origin, r.fire_time, r.run_at, r.started_at,
       r.finished_at, r.attempt, r.fence, r.worker, r.error, told.at
FROM (
    SELECT rowid AS row_id, started_at AS at FROM runs INDEXED BY runs_running
    WHERE state = 'running' AND started_at > :since
    UNION ALL
    SELECT rowid, finished_at FROM runs INDEXED BY runs_ended
    WHERE finished_at IS NOT NULL AND NOT stripped AND finished_at > :since
    UNION ALL
    SELECT failed.rowid, a.finished_at FROM attempts AS a INDEXED BY attempts_by_time
    CROSS JOIN runs AS failed
        ON failed.namespace = a.namespace AND failed.run_key = a.run_key AND failed.attempt = a.attempt
    WHERE a.finished_at > :since AND failed.state = 'ready'
) AS told
CROSS JOIN runs AS r ON r.rowid = told.row_id
WHERE r.namespace IN (SELECT value FROM json_each(:namespaces))
ORDER BY told.at DESC, r.namespace, r.run_key
LIMIT :limit

-- Through what is due it leaps from one lane (a queue, a priority) to the next, whose first run is its oldest.
-- name: standing
WITH RECURSIVE direct (first) AS (
    SELECT (
        SELECT rowid FROM runs INDEXED BY runs_due_direct
        WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
          AND namespace = :namespace
        ORDER BY queue, priority, run_at LIMIT 1
    )
    UNION ALL
    SELECT coalesce((
        SELECT r.rowid FROM runs AS r INDEXED BY runs_due_direct
        WHERE r.state IN ('planned', 'ready') AND (r.schedule_id IS NULL OR r.fence > 0) AND r.held = 0
          AND r.namespace = :namespace AND r.queue = last.queue AND r.priority > last.priority
        ORDER BY r.priority, r.run_at LIMIT 1
    ), (
        SELECT r.rowid FROM runs AS r INDEXED BY runs_due_direct
        WHERE r.state IN ('planned', 'ready') AND (r.schedule_id IS NULL OR r.fence > 0) AND r.held = 0
          AND r.namespace = :namespace AND r.queue > last.queue
        ORDER BY r.queue, r.priority, r.run_at LIMIT 1
    ))
    FROM direct AS lane CROSS JOIN runs AS last ON last.rowid = lane.first
), ticks (first) AS (
    SELECT (
        SELECT rowid FROM runs INDEXED BY runs_due_ticks
        WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
          AND namespace = :namespace
        ORDER BY queue, priority, run_at LIMIT 1
    )
    UNION ALL
    SELECT coalesce((
        SELECT r.rowid FROM runs AS r INDEXED BY runs_due_ticks
        WHERE r.state IN ('planned', 'ready') AND r.schedule_id IS NOT NULL AND r.fence = 0 AND r.held = 0
          AND r.namespace = :namespace AND r.queue = last.queue AND r.priority > last.priority
        ORDER BY r.priority, r.run_at LIMIT 1
    ), (
        SELECT r.rowid FROM runs AS r INDEXED BY runs_due_ticks
        WHERE r.state IN ('planned', 'ready') AND r.schedule_id IS NOT NULL AND r.fence = 0 AND r.held = 0
          AND r.namespace = :namespace AND r.queue > last.queue
        ORDER BY r.queue, r.priority, r.run_at LIMIT 1
    ))
    FROM ticks AS lane CROSS JOIN runs AS last ON last.rowid = lane.first
), due (oldest, runs) AS MATERIALIZED (
    SELECT lane.run_at, (SELECT count(*) FROM (
        SELECT 1 FROM runs AS r INDEXED BY runs_due_direct
        WHERE r.state IN ('planned', 'ready') AND (r.schedule_id IS NULL OR r.fence > 0) AND r.held = 0
          AND r.namespace = :namespace AND r.queue = lane.queue AND r.priority = lane.priority AND r.run_at <= :now
        LIMIT :most
    ))
    FROM direct CROSS JOIN runs AS lane ON lane.rowid = direct.first
    WHERE lane.run_at <= :now
    UNION ALL
    SELECT lane.run_at, (SELECT count(*) FROM (
        SELECT 1 FROM runs AS r INDEXED BY runs_due_ticks
        WHERE r.state IN ('planned', 'ready') AND r.schedule_id IS NOT NULL AND r.fence = 0 AND r.held = 0
          AND r.namespace = :namespace AND r.queue = lane.queue AND r.priority = lane.priority AND r.run_at <= :now
        LIMIT :most
    ))
    FROM ticks CROSS JOIN runs AS lane ON lane.rowid = ticks.first
    WHERE lane.run_at <= :now
)
SELECT
    min((SELECT coalesce(sum(runs), 0) FROM due), :most) AS ready,
    (SELECT count(*) FROM (
        SELECT 1 FROM runs INDEXED BY runs_running
        WHERE state = 'running' AND namespace = :namespace LIMIT :most
    )) AS running,
    (SELECT count(*) FROM (
        SELECT 1 FROM runs INDEXED BY runs_dead WHERE state = 'dead' AND namespace = :namespace LIMIT :most
    )) AS dead,
    (SELECT count(*) FROM (
        SELECT 1 FROM runs INDEXED BY runs_held WHERE held <> 0 AND namespace = :namespace LIMIT :most
    )) AS held,
    (SELECT count(*) FROM (
        SELECT 1 FROM gates INDEXED BY gates_closed WHERE closed_at IS NOT NULL AND namespace = :namespace LIMIT :most
    )) AS gates,
    (:now - (SELECT min(oldest) FROM due)) / 1e6 AS oldest_ready_s,
    (SELECT max(updated_at) FROM schedules WHERE namespace = :namespace) AS schedules_at

-- By the indexes of what may be taken: what is held is in neither.
-- name: overdue
SELECT count(*) AS runs
FROM (
    SELECT queue, fire_time FROM runs INDEXED BY runs_due_direct
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
      AND namespace = :namespace AND run_at < :by
    UNION ALL
    SELECT queue, fire_time FROM runs INDEXED BY runs_due_ticks
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0
      AND namespace = :namespace AND run_at < :by
) AS free
WHERE free.fire_time >= :since
  AND NOT EXISTS (
      SELECT 1 FROM freezes
      WHERE namespace = :namespace AND (kind = 'all' OR (kind = 'queue' AND value = free.queue))
  )

-- name: leases_at
SELECT max(since) AS leases_at FROM epochs
