-- name: enqueue
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), written AS (
    INSERT INTO fencepost.runs (
        namespace, run_key, job, fire_time, state, queue, priority, run_at, payload
    )
    SELECT $1, given.run_key, given.job, coalesce(given.run_at, moment.now),
        CASE WHEN given.run_at > moment.now THEN 'planned' ELSE 'ready' END,
        given.queue, given.priority, coalesce(given.run_at, moment.now), given.payload
    FROM unnest($2::text[], $3::text[], $4::text[], $5::smallint[], $6::timestamptz[], $7::text[])
        AS given (run_key, job, queue, priority, run_at, payload)
    CROSS JOIN moment
    ON CONFLICT (namespace, run_key) DO NOTHING
    RETURNING run_key
)
SELECT total.count,
    CASE WHEN total.count < cardinality($2::text[]) THEN total.keys END AS keys,
    CASE WHEN total.count > 0 THEN pg_notify('fencepost_runs', '') END AS told
FROM (SELECT count(*), array_agg(run_key) AS keys FROM written) AS total;

-- name: enqueue_one
INSERT INTO fencepost.runs (
    namespace, run_key, job, fire_time, state, queue, priority, run_at, payload
)
SELECT $1, $2, $3, coalesce($6::timestamptz, moment.now),
    CASE WHEN $6::timestamptz > moment.now THEN 'planned' ELSE 'ready' END,
    $4, $5::smallint, coalesce($6::timestamptz, moment.now), $7
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (namespace, run_key) DO NOTHING
RETURNING pg_notify('fencepost_runs', '');

-- name: in_force
SELECT version FROM fencepost.schedules
WHERE namespace = $1 AND schedule_id = $2 AND state <> 'removed'
FOR NO KEY UPDATE;

-- name: trigger
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at
)
SELECT schedule.namespace, $4, schedule.schedule_id, schedule.job, $3::timestamptz,
    schedule.version, 'ready', coalesce(schedule.queue, job.queue, 'default'),
    coalesce(schedule.priority, job.priority, 2), $3::timestamptz
FROM fencepost.schedules AS schedule
LEFT JOIN fencepost.jobs AS job
    ON job.namespace = schedule.namespace AND job.name = schedule.job
WHERE schedule.namespace = $1 AND schedule.schedule_id = $2
ON CONFLICT (namespace, run_key) DO NOTHING;

-- name: tell
SELECT pg_notify('fencepost_runs', '');

-- Batches are walked in the order of their keys, so that two of them do not lock each other out.
-- name: pulse
UPDATE fencepost.runs AS run
SET alive_until = fencepost.now() + make_interval(secs => $5)
FROM (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[]) WITH ORDINALITY
        AS each (namespace, run_key, attempt, fence, number)
    ORDER BY namespace, run_key
) AS given
WHERE run.namespace = given.namespace
    AND run.run_key = given.run_key
    AND run.attempt = given.attempt
    AND run.fence = given.fence
    AND run.alive_until IS NOT NULL
RETURNING given.number - 1 AS number, run.cancel_requested;

-- name: report_progress
UPDATE fencepost.runs
SET progress = $5
WHERE namespace = $1
    AND run_key = $2
    AND attempt = $3
    AND fence = $4
    AND alive_until IS NOT NULL
RETURNING run_key;

-- What the attempt leaves behind reads the run as it was before this statement: there the worker
-- still is.
-- name: finish
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::text[], $2::text[], $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::double precision[]
    ) WITH ORDINALITY AS each (
        namespace, run_key, attempt, fence, state, reason, error, detail, output, retry_in_s, number
    )
    ORDER BY namespace, run_key
), done AS (
    UPDATE fencepost.runs AS run
    SET state = CASE
            WHEN given.retry_in_s IS NOT NULL AND run.cancel_requested THEN 'cancelled'
            ELSE given.state
        END,
        reason = CASE
            WHEN given.retry_in_s IS NOT NULL AND run.cancel_requested THEN $11
            ELSE given.reason
        END,
        error = given.error,
        alive_until = NULL,
        finished_at = CASE
            WHEN given.retry_in_s IS NULL OR run.cancel_requested THEN fencepost.now()
        END,
        worker = CASE WHEN given.retry_in_s IS NULL OR run.cancel_requested THEN run.worker END,
        run_at = CASE
            WHEN given.retry_in_s IS NULL OR run.cancel_requested THEN run.run_at
            ELSE fencepost.now() + make_interval(secs => given.retry_in_s)
        END
    FROM given
    WHERE run.namespace = given.namespace
        AND run.run_key = given.run_key
        AND run.attempt = given.attempt
        AND run.fence = given.fence
        AND run.alive_until IS NOT NULL
    RETURNING given.*
), kept AS (
    INSERT INTO fencepost.attempts (
        namespace, run_key, attempt, fence, worker, started_at, finished_at, outcome, error, detail,
        output
    )
    SELECT done.namespace, done.run_key, done.attempt, done.fence, run.worker, run.started_at,
        fencepost.now(), CASE WHEN done.retry_in_s IS NULL THEN done.state ELSE 'failed' END,
        done.error, done.detail, done.output
    FROM done
    JOIN fencepost.runs AS run ON run.namespace = done.namespace AND run.run_key = done.run_key
    WHERE done.state IN ('ready', 'dead') OR done.error IS NOT NULL OR done.output IS NOT NULL
    ON CONFLICT (namespace, run_key, attempt) DO NOTHING
)
SELECT total.numbers, CASE WHEN total.at_once THEN pg_notify('fencepost_runs', '') END AS told
FROM (
    SELECT array_agg(number - 1) AS numbers, bool_or(retry_in_s <= 0) AS at_once FROM done
) AS total;

-- name: reported
SELECT given.number - 1 AS number
FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[]) WITH ORDINALITY
    AS given (namespace, run_key, attempt, fence, number)
JOIN fencepost.runs AS run
    ON run.namespace = given.namespace
    AND run.run_key = given.run_key
    AND run.attempt = given.attempt
    AND run.fence = given.fence;

-- name: expired
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
)
SELECT run.namespace, run.run_key, run.attempt, run.fence, run.worker, run.cancel_requested,
    extract(epoch FROM moment.now - run.alive_until)::double precision AS silent_for_s,
    job.spec AS job_spec
FROM moment
JOIN fencepost.runs AS run ON run.state = 'running' AND run.alive_until < moment.now
LEFT JOIN fencepost.jobs AS job ON job.namespace = run.namespace AND job.name = run.job
ORDER BY run.alive_until, run.run_key
LIMIT $1;

-- name: rescue
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::text[], $2::text[], $3::integer[], $4::bigint[], $5::text[], $6::text[],
        $7::double precision[]
    ) WITH ORDINALITY AS each (namespace, run_key, attempt, fence, state, reason, retry_in_s, number)
    ORDER BY namespace, run_key
), rescued AS (
    UPDATE fencepost.runs AS run
    SET state = given.state,
        fence = nextval('fencepost.fences'),
        reason = given.reason,
        error = CASE WHEN given.state <> 'ready' THEN given.reason END,
        alive_until = NULL,
        finished_at = CASE WHEN given.state <> 'ready' THEN fencepost.now() END,
        worker = CASE WHEN given.state <> 'ready' THEN run.worker END,
        run_at = CASE
            WHEN given.state <> 'ready' THEN run.run_at
            ELSE fencepost.now() + make_interval(secs => given.retry_in_s)
        END
    FROM given
    WHERE run.namespace = given.namespace
        AND run.run_key = given.run_key
        AND run.attempt = given.attempt
        AND run.fence = given.fence
        AND run.alive_until < fencepost.now()
    RETURNING given.*
), kept AS (
    INSERT INTO fencepost.attempts (
        namespace, run_key, attempt, fence, worker, started_at, finished_at, outcome, error
    )
    SELECT rescued.namespace, rescued.run_key, rescued.attempt, rescued.fence, run.worker,
        run.started_at, fencepost.now(), 'lost', rescued.reason
    FROM rescued
    JOIN fencepost.runs AS run ON run.namespace = rescued.namespace AND run.run_key = rescued.run_key
    ON CONFLICT (namespace, run_key, attempt) DO NOTHING
)
SELECT total.numbers, CASE WHEN total.at_once THEN pg_notify('fencepost_runs', '') END AS told
FROM (
    SELECT array_agg(number - 1) AS numbers, bool_or(state = 'ready' AND retry_in_s <= 0) AS at_once
    FROM rescued
) AS total;

-- name: cancel
UPDATE fencepost.runs
SET state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END,
    fence = CASE WHEN state = 'ready' AND fence > 0 THEN nextval('fencepost.fences') ELSE fence END,
    finished_at = CASE WHEN state = 'running' THEN finished_at ELSE fencepost.now() END,
    cancel_requested = cancel_requested OR state = 'running',
    reason = CASE WHEN state = 'running' THEN reason ELSE $3 END,
    error = CASE WHEN state = 'running' THEN error END
WHERE namespace = $1 AND run_key = $2 AND state IN ('planned', 'ready', 'running');

-- name: forget
WITH old AS MATERIALIZED (
    SELECT namespace, run_key, schedule_id
    FROM fencepost.runs
    WHERE finished_at < (SELECT fencepost.now()) - make_interval(secs => $1) AND NOT stripped
    ORDER BY finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), attempts AS (
    DELETE FROM fencepost.attempts AS attempt
    USING old
    WHERE attempt.namespace = old.namespace AND attempt.run_key = old.run_key
), removed AS (
    DELETE FROM fencepost.runs AS run
    USING old
    WHERE run.namespace = old.namespace
        AND run.run_key = old.run_key
        AND old.schedule_id IS NOT NULL
), stripped AS (
    UPDATE fencepost.runs AS run
    SET payload = NULL, error = NULL, progress = NULL, stripped = true
    FROM old
    WHERE run.namespace = old.namespace
        AND run.run_key = old.run_key
        AND old.schedule_id IS NULL
)
SELECT count(*) FROM old;
