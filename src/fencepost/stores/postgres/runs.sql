-- What people read. A planned run whose time has come is shown as ready.

-- Every reading of runs begins with this; what follows says which, and in what order.
-- name: shown
SELECT run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
    CASE
        WHEN run.state = 'planned' AND run.run_at <= (SELECT fencepost.now()) THEN 'ready'
        ELSE run.state
    END AS state,
    run.reason, run.attempt, run.fence, run.epoch, run.run_at, run.started_at, run.finished_at,
    run.worker, run.error, run.queue, run.priority, run.payload, run.progress, run.cancel_requested,
    run.origin, run.held, run.met, run.begun_at, run.spent, run.backfill_id, run.alive_until,
    version.spec
FROM fencepost.runs AS run
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = run.namespace
    AND version.schedule_id = run.schedule_id
    AND version.version = run.version

-- name: get
WHERE run.namespace = $1 AND run.run_key = $2;

-- name: get_many
WHERE run.namespace = $1 AND run.run_key = ANY ($2::text[]);

-- name: ticks
WHERE run.namespace = $1
    AND run.schedule_id = $2
    AND run.fire_time > $3
    AND run.fire_time <= $4
    AND run.fire_time >= coalesce($5::timestamptz, '-infinity')
    AND (run.fire_time, run.run_key) > (coalesce($5::timestamptz, '-infinity'), coalesce($6::text, ''))
ORDER BY run.fire_time, run.run_key
LIMIT $7;

-- name: running
WHERE run.namespace = $1 AND run.state = 'running'
ORDER BY run.alive_until, run.run_key
LIMIT $2;

-- A list is narrowed by an index where there is one for what is asked, and then by all that is asked.
-- name: all
WHERE run.version >= 0

-- name: of_schedule
WHERE run.schedule_id = $10

-- name: of_backfill
WHERE run.backfill_id = $8

-- name: dead
WHERE run.state = 'dead'

-- name: held
WHERE run.held <> 0

-- name: wanted
    AND run.namespace = $1
    AND ($2::text IS NULL OR run.job = $2)
    AND ($3::timestamptz IS NULL OR run.fire_time >= $3)
    AND ($4::timestamptz IS NULL OR run.fire_time < $4)
    AND ($5::text IS NULL OR $5 = CASE
        WHEN run.state = 'planned' AND run.run_at <= (SELECT fencepost.now()) THEN 'ready'
        ELSE run.state
    END)
    AND ($6::text IS NULL OR run.origin = $6)
    AND ($7::text IS NULL OR strpos(run.error, $7) > 0)
    AND ($8::bigint IS NULL OR run.backfill_id = $8)
    AND ($9::boolean IS NULL OR (run.held <> 0) = $9)
    AND ($10::text IS NULL OR run.schedule_id = $10)
ORDER BY run.fire_time DESC, run.run_key DESC
LIMIT $11;

-- name: attempts
SELECT attempt, fence, worker, started_at, finished_at, outcome, error, detail, output
FROM fencepost.attempts
WHERE namespace = $1 AND run_key = $2
ORDER BY attempt;

-- name: depth
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), due AS (
    SELECT run_at
    FROM fencepost.runs
    WHERE namespace = $1
        AND state IN ('planned', 'ready')
        AND (schedule_id IS NULL OR fence > 0)
        AND held = 0
        AND run_at <= (SELECT now FROM moment)
    UNION ALL
    SELECT run_at
    FROM fencepost.runs
    WHERE namespace = $1
        AND state IN ('planned', 'ready')
        AND schedule_id IS NOT NULL
        AND fence = 0
        AND held = 0
        AND run_at <= (SELECT now FROM moment)
)
SELECT
    (SELECT count(*) FROM due) AS ready,
    (SELECT count(*) FROM fencepost.runs WHERE namespace = $1 AND state = 'running') AS running,
    (
        SELECT extract(epoch FROM moment.now - min(run_at))::double precision FROM due
    ) AS oldest_ready_s
FROM moment;

-- name: tally
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), shown AS (
    SELECT CASE WHEN run.state = 'planned' AND run.run_at <= moment.now THEN 'ready' ELSE run.state
        END AS state
    FROM moment
    JOIN fencepost.runs AS run
        ON run.namespace = $1
        AND run.version >= 0
        AND run.fire_time BETWEEN moment.now - make_interval(secs => $2) AND moment.now
)
SELECT state, count(*) AS runs FROM shown GROUP BY state;

-- name: missed_ranges
SELECT namespace, schedule_id, version, first_at, last_at, ticks, reason
FROM fencepost.missed_ranges
WHERE namespace = $1 AND schedule_id = $2 AND last_at > $3 AND first_at <= $4
ORDER BY first_at, version;

-- name: typical_run_s
SELECT extract(epoch FROM avg(last.finished_at - last.started_at))::double precision
FROM (
    SELECT run.finished_at, run.started_at
    FROM fencepost.runs AS run
    WHERE run.namespace = $1
        AND run.schedule_id = $2
        AND run.fence > 0
        AND run.finished_at IS NOT NULL
        AND run.state = 'succeeded'
    ORDER BY run.finished_at DESC
    LIMIT $3
) AS last;

-- name: forgotten_before
SELECT value::timestamptz FROM fencepost.meta WHERE name = 'forgotten_before';
