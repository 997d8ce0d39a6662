-- name: close
INSERT INTO fencepost.gates AS known (namespace, schedule_id, closed_at, reason)
VALUES ($1, $2, fencepost.now(), $3)
ON CONFLICT (namespace, schedule_id) DO UPDATE
SET closed_at = excluded.closed_at, reason = excluded.reason
WHERE known.closed_at IS NULL
RETURNING schedule_id;

-- name: hold_back
WITH held AS (
    UPDATE fencepost.runs
    SET held = held | 4
    WHERE namespace = $1
        AND schedule_id = $2
        AND state IN ('planned', 'ready')
        AND fence = 0
        AND origin IN ('catch_up', 'backfill', 'replay')
        AND origin = 'catch_up'
    RETURNING run_key
)
SELECT count(*) FROM held;

-- name: closed
SELECT gate.namespace, gate.schedule_id, gate.closed_at, gate.reason, backlog.held, backlog.oldest,
    backlog.newest, (
        SELECT extract(epoch FROM avg(last.finished_at - last.started_at))::double precision
        FROM (
            SELECT run.finished_at, run.started_at
            FROM fencepost.runs AS run
            WHERE run.namespace = gate.namespace
                AND run.schedule_id = gate.schedule_id
                AND run.fence > 0
                AND run.finished_at IS NOT NULL
                AND run.state = 'succeeded'
            ORDER BY run.finished_at DESC
            LIMIT $2
        ) AS last
    ) AS run_s, schedule.spec
FROM fencepost.gates AS gate
LEFT JOIN fencepost.schedules AS schedule
    ON schedule.namespace = gate.namespace AND schedule.schedule_id = gate.schedule_id
CROSS JOIN LATERAL (
    SELECT count(*) AS held, min(run.fire_time) AS oldest, max(run.fire_time) AS newest
    FROM fencepost.runs AS run
    WHERE run.namespace = gate.namespace
        AND run.schedule_id = gate.schedule_id
        AND run.state IN ('planned', 'ready')
        AND run.fence = 0
        AND run.origin = 'catch_up'
        AND run.held & 4 <> 0
) AS backlog
WHERE gate.namespace = $1 AND gate.closed_at IS NOT NULL
ORDER BY gate.schedule_id;

-- name: is_closed
SELECT schedule_id
FROM fencepost.gates
WHERE namespace = $1 AND schedule_id = $2 AND closed_at IS NOT NULL
FOR UPDATE;

-- In the order of their keys, as everybody who takes several runs does.
-- name: lock_backlog
SELECT run_key
FROM fencepost.runs
WHERE namespace = $1
    AND schedule_id = $2
    AND state IN ('planned', 'ready')
    AND fence = 0
    AND origin = 'catch_up'
    AND held & 4 <> 0
ORDER BY run_key
FOR UPDATE;

-- Of the backlog the $3 with the newest fire times are released, or all where it is null; the rest is missed.
-- name: open
WITH backlog AS MATERIALIZED (
    SELECT run_key, fire_time,
        $3::bigint IS NULL OR row_number() OVER (ORDER BY fire_time DESC, run_key DESC) <= $3 AS released
    FROM fencepost.runs
    WHERE namespace = $1
        AND schedule_id = $2
        AND state IN ('planned', 'ready')
        AND fence = 0
        AND origin = 'catch_up'
        AND held & 4 <> 0
), decided AS (
    UPDATE fencepost.runs AS run
    SET held = CASE WHEN backlog.released THEN run.held & ~4 ELSE 0 END,
        state = CASE WHEN backlog.released THEN run.state ELSE 'missed' END,
        reason = CASE WHEN backlog.released THEN run.reason ELSE $4 END,
        finished_at = CASE WHEN NOT backlog.released THEN fencepost.now() END
    FROM backlog
    WHERE run.namespace = $1 AND run.run_key = backlog.run_key
), gate AS (
    UPDATE fencepost.gates
    SET closed_at = NULL,
        reason = NULL,
        opened_at = fencepost.now(),
        let_through = greatest(let_through, (SELECT max(fire_time) FROM backlog WHERE released))
    WHERE namespace = $1 AND schedule_id = $2
)
SELECT count(*) FILTER (WHERE released) AS released, count(*) FILTER (WHERE NOT released) AS missed
FROM backlog;
