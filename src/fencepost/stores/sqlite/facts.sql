-- What a judge is told, for many schedules at a time: each list is a short range of one index.

-- part: newest(index, origins)
(SELECT fire_time FROM runs INDEXED BY {index}
 WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
   AND state IN ('planned', 'ready') AND fence = 0 AND origin {origins} AND held & 1 = 0 AND run_at <= :now
 ORDER BY fire_time DESC LIMIT 1)

-- part: due(index, origins, held, most)
SELECT row_id FROM (
    SELECT rowid AS row_id FROM runs INDEXED BY {index}
    WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
      AND state IN ('planned', 'ready') AND fence = 0 AND origin {origins} AND held {held} AND run_at <= :now
      AND (:queues IS NULL OR queue IN (SELECT value FROM json_each(:queues)))
      AND (:jobs IS NULL OR job IN (SELECT value FROM json_each(:jobs)))
    ORDER BY fire_time, run_key LIMIT {most}
)

-- Each schedule comes with when the first of its due live ticks became due: what ended before that is not in the way.
-- A tick that an operator holds (1) makes none of the others old. A cursor that was never planned does not know when its
-- version fires (`next_fire_at` is where it begins), and what was called off or is held by name is not unplanned.
-- name: facts
SELECT namespace, schedule_id, coalesce(max(live, behind), live, behind) AS newest_due, unplanned, previous,
       finished, closed, opened_at, let_through
FROM (
    SELECT s.key AS place, s.value ->> 0 AS namespace, s.value ->> 1 AS schedule_id,
           {newest(runs_open; IN ('live', 'manual'))} AS live,
           {newest(runs_behind; NOT IN ('live', 'manual'))} AS behind,
           (SELECT json_group_array(
                json_array(next_fire_at, (
                    SELECT spec FROM schedule_versions
                    WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
                      AND version = newest.version
                ))
                ORDER BY next_fire_at DESC
            )
            FROM (SELECT version, planned_through, next_fire_at, until FROM cursors
                  WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
                  ORDER BY version DESC LIMIT :versions) AS newest
            WHERE planned_through < next_fire_at AND next_fire_at <= :now
              AND (until IS NULL OR next_fire_at <= until)
              AND NOT EXISTS (
                  SELECT 1 FROM runs INDEXED BY runs_by_schedule
                  WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
                    AND fire_time = newest.next_fire_at
                    AND (runs.version = newest.version OR state <> 'withdrawn')
              )) AS unplanned,
           (SELECT fire_time FROM runs INDEXED BY runs_succeeded
            WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1 AND state = 'succeeded'
            ORDER BY fire_time DESC LIMIT 1) AS previous,
           (SELECT json_group_array(
                json_array(run_key, fire_time, finished_at, origin, cancel_requested, first_started_at)
                ORDER BY finished_at DESC, run_key DESC
            )
            FROM (
                SELECT run_key, fire_time, finished_at, origin, cancel_requested, first_started_at
                FROM runs INDEXED BY runs_finished
                WHERE namespace = s.value ->> 0 AND schedule_id = s.value ->> 1
                  AND fence > 0 AND finished_at IS NOT NULL AND finished_at > s.value ->> 2
                ORDER BY finished_at DESC, run_key DESC
                LIMIT :kept
            )) AS finished,
           g.closed_at IS NOT NULL AS closed, g.opened_at, g.let_through
    FROM json_each(:schedules) s
    LEFT JOIN gates g ON g.namespace = s.value ->> 0 AND g.schedule_id = s.value ->> 1
)
ORDER BY place

-- Live ticks, then those behind them; those that wait (8, 16, 32) are cut by themselves, or a long line of them would hide
-- the ticks that have not been parked yet. Of the parked no more are read than may start. Without queues and jobs every due tick counts.
-- name: facts_due
SELECT s.key AS place, r.rowid AS row_id, r.run_key, r.fire_time, r.run_at, r.origin, r.held, b.at_once_max,
       v.spec, r.reason IS NULL AS is_new
FROM json_each(:schedules) s
CROSS JOIN runs r ON r.rowid IN (
    {due(runs_open; IN ('live', 'manual'); IN (0, 8, 16, 32); :due_max)}
    UNION ALL
    {due(runs_behind; NOT IN ('live', 'manual'); = 0; :due_max)}
    UNION ALL
    {due(runs_behind; NOT IN ('live', 'manual'); = 8; :parked_max)}
    UNION ALL
    {due(runs_behind; NOT IN ('live', 'manual'); IN (16, 32); :due_max)}
)
CROSS JOIN schedule_versions v
    ON v.namespace = r.namespace AND v.schedule_id = r.schedule_id AND v.version = r.version
LEFT JOIN backfills b ON b.backfill_id = r.backfill_id
ORDER BY s.key, r.origin NOT IN ('live', 'manual'), r.fire_time, r.run_key

-- name: facts_unfinished
SELECT s.key AS place, r.run_key, r.fire_time, r.finished_at, r.origin, r.cancel_requested, r.first_started_at
FROM json_each(:schedules) s
CROSS JOIN runs r INDEXED BY runs_unfinished
    ON r.namespace = s.value ->> 0 AND r.schedule_id = s.value ->> 1
WHERE r.fence > 0 AND r.state IN ('ready', 'running')
ORDER BY s.key, r.fire_time, r.run_key

-- name: gate_waiting
SELECT count(*)
FROM (
    SELECT 1 FROM runs INDEXED BY runs_behind
    WHERE namespace = :namespace AND schedule_id = :schedule_id AND fire_time > :let_through
      AND state IN ('planned', 'ready') AND fence = 0 AND origin NOT IN ('live', 'manual')
      AND held & 4 = 0 AND origin = 'catch_up'
    LIMIT :waiting_max
)

-- name: gate_failed
SELECT state = 'dead'
FROM runs INDEXED BY runs_caught_up
WHERE namespace = :namespace AND schedule_id = :schedule_id AND finished_at > :opened_at
  AND origin = 'catch_up' AND fence > 0 AND finished_at IS NOT NULL
ORDER BY finished_at DESC, run_key DESC
LIMIT :of_last
