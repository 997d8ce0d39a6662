-- Catch-up gates. What a gate holds is held by 4.

-- name: close
INSERT INTO gates (namespace, schedule_id, closed_at, reason)
VALUES (:namespace, :schedule_id, :now, :reason)
ON CONFLICT (namespace, schedule_id) DO UPDATE
SET closed_at = excluded.closed_at, reason = excluded.reason
WHERE closed_at IS NULL
RETURNING 1

-- name: hold_back
UPDATE runs INDEXED BY runs_behind
SET held = held | 4
WHERE namespace = :namespace AND schedule_id = :schedule_id AND state IN ('planned', 'ready') AND fence = 0
  AND origin NOT IN ('live', 'manual') AND origin = 'catch_up'
RETURNING 1

-- name: closed
SELECT g.namespace, g.schedule_id, g.closed_at, g.reason, count(r.rowid) AS held, min(r.fire_time) AS oldest,
       max(r.fire_time) AS newest,
       (SELECT spec FROM schedules WHERE namespace = g.namespace AND schedule_id = g.schedule_id) AS spec,
       (SELECT avg(took) FROM (
            SELECT (finished_at - started_at) / 1e6 AS took FROM runs INDEXED BY runs_succeeded
            WHERE namespace = g.namespace AND schedule_id = g.schedule_id AND state = 'succeeded'
            ORDER BY fire_time DESC LIMIT :typical_of
        )) AS run_s
FROM gates g
LEFT JOIN runs r INDEXED BY runs_held
    ON r.namespace = g.namespace AND r.schedule_id = g.schedule_id AND r.held <> 0 AND r.held & 4 <> 0
WHERE g.namespace = :namespace AND g.closed_at IS NOT NULL
GROUP BY g.namespace, g.schedule_id
ORDER BY g.schedule_id

-- name: is_closed
SELECT 1
FROM gates
WHERE namespace = :namespace AND schedule_id = :schedule_id AND closed_at IS NOT NULL

-- name: open
UPDATE gates
SET closed_at = NULL, reason = NULL, opened_at = :now,
    let_through = coalesce(max(let_through, :let_through), let_through, :let_through)
WHERE namespace = :namespace AND schedule_id = :schedule_id

-- name: held_back
SELECT rowid, fire_time
FROM runs INDEXED BY runs_held
WHERE namespace = :namespace AND schedule_id = :schedule_id AND held <> 0 AND held & 4 <> 0
ORDER BY fire_time, run_key

-- name: let_go
UPDATE runs SET held = held & ~4 WHERE rowid IN (SELECT value FROM json_each(:rows))

-- name: miss
UPDATE runs
SET state = 'missed', reason = :reason, finished_at = :now, held = 0
WHERE rowid IN (SELECT value FROM json_each(:rows))
