-- Planning under epochs.

-- name: window
SELECT c.namespace, c.schedule_id, c.shard, c.version, c.planned_through, c.until, c.tzdata, c.touched, v.spec,
       coalesce(j.queue, :queue) AS queue, coalesce(j.priority, :priority) AS priority
FROM (
    SELECT due.rowid AS place
    FROM json_each(:shards) AS wanted
    CROSS JOIN cursors AS due INDEXED BY cursors_next
    WHERE due.shard = wanted.value AND due.next_fire_at IS NOT NULL AND due.next_fire_at <= :through
      AND due.namespace NOT IN (SELECT value FROM json_each(:without))
    ORDER BY due.next_fire_at, due.namespace, due.schedule_id, due.version
    LIMIT :limit
)
JOIN cursors c ON c.rowid = place
JOIN schedule_versions v
    ON v.namespace = c.namespace AND v.schedule_id = c.schedule_id AND v.version = c.version
LEFT JOIN jobs j ON j.namespace = v.namespace AND j.name = v.job
ORDER BY c.next_fire_at, c.namespace, c.schedule_id, c.version

-- name: epochs
SELECT shard, epoch FROM epochs WHERE shard IN (SELECT value FROM json_each(:shards))

-- name: advance
UPDATE cursors
SET planned_through = :planned_through, next_fire_at = :next_fire_at, tzdata = :tzdata
WHERE namespace = :namespace AND schedule_id = :schedule_id AND version = :version
  AND shard = :shard AND planned_through = :from AND until IS :until AND next_fire_at IS NOT NULL
  AND touched = :touched
RETURNING :place, frozen

-- One statement for all runs: a statement for each run keeps a journal of its own, and within the savepoint of a hop
-- SQLite walks through what the hop has changed so far at the end of each.
-- name: plan
INSERT INTO runs (namespace, run_key, schedule_id, job, fire_time, version, state, epoch, queue, priority, run_at, origin,
                  held, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, 'planned', value ->> 6, value ->> 7,
       value ->> 8, value ->> 9, value ->> 10, value ->> 11, :now
FROM json_each(:runs) AS given
WHERE NOT EXISTS (
    SELECT 1 FROM runs INDEXED BY runs_by_schedule
    WHERE namespace = given.value ->> 0 AND schedule_id = given.value ->> 2 AND fire_time = given.value ->> 4
      AND state <> 'withdrawn'
)
ON CONFLICT (namespace, run_key) DO NOTHING
