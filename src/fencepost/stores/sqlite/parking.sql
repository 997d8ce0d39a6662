-- Ticks that wait for their turn and for nothing else (8), and the bell that has their schedule judged again.

-- name: any_parked
SELECT 1 FROM runs INDEXED BY runs_parked WHERE held = 8 LIMIT 1

-- name: ring
UPDATE runs
SET held = 0
WHERE rowid IN (
    SELECT (SELECT rowid FROM runs INDEXED BY runs_parked
            WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1 AND held = 8
            ORDER BY fire_time, run_key LIMIT 1)
    FROM json_each(:schedules) s
)
RETURNING rowid

-- name: parked
SELECT DISTINCT namespace, schedule_id
FROM runs INDEXED BY runs_parked
WHERE held = 8
LIMIT :limit
