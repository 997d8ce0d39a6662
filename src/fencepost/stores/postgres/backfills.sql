-- name: start
INSERT INTO fencepost.backfills (
    namespace, schedule_id, since, until, mode, at_once_max, every_s, state, filled_through, next_run_at,
    created_at
)
SELECT $1, $2, $3, $4, $5, $6, $7, 'active', $3, moment.now, moment.now
FROM (SELECT fencepost.now() AS now) AS moment
RETURNING backfill_id;

-- name: lock
SELECT state, filled_through, greatest(next_run_at, fencepost.now()) AS next_run_at
FROM fencepost.backfills
WHERE namespace = $1 AND backfill_id = $2
FOR UPDATE;

-- name: get
SELECT backfill.*
FROM fencepost.backfills AS backfill
WHERE backfill.namespace = $1 AND backfill.backfill_id = $2;

-- name: list
SELECT backfill.*
FROM fencepost.backfills AS backfill
WHERE backfill.namespace = $1 AND backfill.backfill_id < coalesce($3::bigint, 9223372036854775807)
ORDER BY backfill.backfill_id DESC
LIMIT $2;

-- name: active
SELECT backfill.*
FROM fencepost.backfills AS backfill
WHERE backfill.state = 'active'
ORDER BY backfill.backfill_id
LIMIT $1;

-- name: tally
SELECT run.backfill_id,
    CASE
        WHEN run.state = 'planned' AND run.run_at <= (SELECT fencepost.now()) THEN 'ready'
        ELSE run.state
    END AS shown,
    count(*) AS runs
FROM fencepost.runs AS run
WHERE run.backfill_id = ANY ($1::bigint[])
GROUP BY run.backfill_id, shown;

-- The runs of these fire times, taken in the order of their keys: what has ended is neither removed nor sent
-- on its way by somebody else until this is done.
-- name: there
SELECT run.fire_time, run.run_key, run.state, run.version
FROM fencepost.runs AS run
WHERE run.namespace = $1 AND run.schedule_id = $2 AND run.epoch >= 0 AND run.fire_time = ANY ($3::timestamptz[])
ORDER BY run.run_key
FOR UPDATE;

-- name: ranges
SELECT version, first_at, last_at
FROM fencepost.missed_ranges
WHERE namespace = $1 AND schedule_id = $2 AND last_at >= $3 AND first_at <= $4
ORDER BY first_at, version;

-- name: insert
INSERT INTO fencepost.runs (
    namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at, origin, held,
    backfill_id
)
SELECT $1, tick.run_key, $2, tick.job, tick.fire_time, tick.version, 'ready', tick.queue, 5, tick.run_at,
    'backfill', CASE WHEN $3::boolean THEN 2 ELSE 0 END, $4
FROM unnest($5::text[], $6::text[], $7::timestamptz[], $8::integer[], $9::text[], $10::timestamptz[])
    AS tick (run_key, job, fire_time, version, queue, run_at);

-- name: leave_ranges
WITH fewer AS (
    UPDATE fencepost.missed_ranges AS range
    SET ticks = range.ticks - given.ticks
    FROM unnest($3::integer[], $4::timestamptz[], $5::bigint[]) AS given (version, first_at, ticks)
    WHERE range.namespace = $1
        AND range.schedule_id = $2
        AND range.version = given.version
        AND range.first_at = given.first_at
        AND range.ticks > given.ticks
)
DELETE FROM fencepost.missed_ranges AS range
USING unnest($3::integer[], $4::timestamptz[], $5::bigint[]) AS given (version, first_at, ticks)
WHERE range.namespace = $1
    AND range.schedule_id = $2
    AND range.version = given.version
    AND range.first_at = given.first_at
    AND range.ticks <= given.ticks;

-- name: move
UPDATE fencepost.backfills
SET filled_through = $2,
    next_run_at = $3,
    state = CASE WHEN $2 >= until THEN 'filled' ELSE state END
WHERE backfill_id = $1;

-- name: cancel
UPDATE fencepost.backfills SET state = 'cancelled' WHERE backfill_id = $1;

-- name: cancel_runs
WITH waiting AS MATERIALIZED (
    SELECT namespace, run_key
    FROM fencepost.runs
    WHERE backfill_id = $1 AND state IN ('planned', 'ready')
    ORDER BY namespace, run_key
    FOR UPDATE
), cancelled AS (
    UPDATE fencepost.runs AS run
    SET state = CASE WHEN run.fence > 0 THEN 'cancelled' ELSE 'missed' END,
        fence = CASE WHEN run.fence > 0 THEN nextval('fencepost.fences') ELSE run.fence END,
        finished_at = fencepost.now(),
        reason = $2,
        error = NULL,
        held = 0
    FROM waiting
    WHERE run.namespace = waiting.namespace
        AND run.run_key = waiting.run_key
        AND run.finished_at IS NULL
        AND run.alive_until IS NULL
    RETURNING run.run_key
)
SELECT count(*) FROM cancelled;

-- name: tell_schedules
SELECT pg_notify('fencepost_schedules', '');
