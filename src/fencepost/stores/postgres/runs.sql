-- What people read. A planned run whose time has come is shown as ready.

-- name: get
SELECT run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
    CASE
        WHEN run.state = 'planned' AND run.run_at <= (SELECT fencepost.now()) THEN 'ready'
        ELSE run.state
    END AS state,
    run.reason, run.attempt, run.fence, run.epoch, run.run_at, run.started_at, run.finished_at,
    run.worker, run.error, run.queue, run.priority, run.payload, run.progress, run.cancel_requested,
    version.spec
FROM fencepost.runs AS run
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = run.namespace
    AND version.schedule_id = run.schedule_id
    AND version.version = run.version
WHERE run.namespace = $1 AND run.run_key = $2;

-- name: attempts
SELECT attempt, fence, worker, started_at, finished_at, outcome, error, detail, output
FROM fencepost.attempts
WHERE namespace = $1 AND run_key = $2
ORDER BY attempt;

-- name: list
SELECT run.*, version.spec
FROM (
    SELECT namespace, run_key, schedule_id, job, fire_time, version,
        CASE
            WHEN state = 'planned' AND run_at <= (SELECT fencepost.now()) THEN 'ready'
            ELSE state
        END AS state,
        reason, attempt, fence, epoch, run_at, started_at, finished_at, worker, error, queue, priority,
        payload, progress, cancel_requested
    FROM fencepost.runs
    WHERE namespace = $1
        AND ($2::text IS NULL OR job = $2)
        AND ($3::timestamptz IS NULL OR fire_time >= $3)
        AND ($4::timestamptz IS NULL OR fire_time < $4)
) AS run
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = run.namespace
    AND version.schedule_id = run.schedule_id
    AND version.version = run.version
WHERE $5::text IS NULL OR run.state = $5
ORDER BY run.fire_time DESC, run.run_key DESC
LIMIT $6;

-- name: list_of_schedule
SELECT run.*, version.spec
FROM (
    SELECT namespace, run_key, schedule_id, job, fire_time, version,
        CASE
            WHEN state = 'planned' AND run_at <= (SELECT fencepost.now()) THEN 'ready'
            ELSE state
        END AS state,
        reason, attempt, fence, epoch, run_at, started_at, finished_at, worker, error, queue, priority,
        payload, progress, cancel_requested
    FROM fencepost.runs
    WHERE namespace = $1
        AND schedule_id = $7
        AND ($2::text IS NULL OR job = $2)
        AND ($3::timestamptz IS NULL OR fire_time >= $3)
        AND ($4::timestamptz IS NULL OR fire_time < $4)
) AS run
JOIN fencepost.schedule_versions AS version
    ON version.namespace = run.namespace
    AND version.schedule_id = run.schedule_id
    AND version.version = run.version
WHERE $5::text IS NULL OR run.state = $5
ORDER BY run.fire_time DESC, run.run_key DESC
LIMIT $6;

-- name: depth
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), due AS (
    SELECT run_at
    FROM fencepost.runs
    WHERE namespace = $1
        AND state IN ('planned', 'ready')
        AND (schedule_id IS NULL OR fence > 0)
        AND run_at <= (SELECT now FROM moment)
    UNION ALL
    SELECT run_at
    FROM fencepost.runs
    WHERE namespace = $1
        AND state IN ('planned', 'ready')
        AND schedule_id IS NOT NULL
        AND fence = 0
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
        AND run.fire_time BETWEEN moment.now - make_interval(secs => $2) AND moment.now
)
SELECT state, count(*) AS runs FROM shown GROUP BY state;
