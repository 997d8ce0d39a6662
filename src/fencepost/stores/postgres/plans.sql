-- Nothing but withdrawn runs may be there at the fire time.
-- part: is_free(tick)
NOT EXISTS (
    SELECT 1
    FROM fencepost.runs AS other
    WHERE other.namespace = advanced.namespace AND other.schedule_id = advanced.schedule_id
        AND other.epoch >= 0 AND other.fire_time = {tick}.fire_time AND other.state <> 'withdrawn'
    OFFSET 0
)

-- Where no cursor is due one row without a schedule still tells the time. Of `<> ALL` the server would believe that
-- nothing is left, and read all that is due instead of the first of it.
-- name: window
WITH moment AS MATERIALIZED (
    SELECT now, now + make_interval(secs => $2) AS through
    FROM (SELECT fencepost.now() AS now) AS clock
), due AS (
    SELECT next.namespace, next.schedule_id, next.shard, next.version, next.planned_through,
        next.until, next.next_fire_at, next.tzdata, next.touched
    FROM unnest($1::integer[]) AS given (shard)
    CROSS JOIN LATERAL (
        SELECT *
        FROM fencepost.cursors AS each
        WHERE each.shard = given.shard
            AND each.next_fire_at <= (SELECT through FROM moment)
            AND NOT $4::text[] @> ARRAY[each.namespace]
        ORDER BY each.next_fire_at
        LIMIT $3
    ) AS next
    ORDER BY next.next_fire_at, next.namespace, next.schedule_id, next.version
    LIMIT $3
), cursor AS (
    SELECT due.*, version.spec,
        coalesce(job.queue, 'default') AS queue,
        coalesce(job.priority, 2) AS priority
    FROM due
    JOIN fencepost.schedule_versions AS version ON {is_version_of(due)}
    LEFT JOIN fencepost.jobs AS job
        ON job.namespace = due.namespace AND job.name = version.job
)
SELECT moment.now, moment.through, cursor.*
FROM moment
LEFT JOIN cursor ON true
ORDER BY cursor.next_fire_at, cursor.namespace, cursor.schedule_id, cursor.version;

-- The rows of the fence are locked FOR SHARE, which keeps a newer epoch from being registered until
-- this write is durable. One that was registered while this statement waited for the row is seen,
-- because PostgreSQL compares a row again after a wait, and drops it. A cursor that moved meanwhile is
-- dropped in the same way, and one that is locked is passed over. So is one beside which another wrote ticks: runs are not read again after a
-- wait, and this statement may have begun too early to see them. Runs are written only for cursors that this
-- very statement advanced, and held where the cursor, as it is after any wait, says that its schedule is
-- frozen.
--
-- Ticks that are missed already are counted, and go on with the range that ends where the cursor stood.
-- `OFFSET 0` keeps the look at other runs a probe of its own by all three columns, also where the server knows
-- nothing of the table yet.
-- name: write
WITH plan AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::text[], $3::text[], $4::integer[], $5::bigint[], $6::integer[],
        $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[],
        $12::smallint[], $13::timestamptz[], $14::text[], $15::integer[]
    ) AS given (
        number, namespace, schedule_id, shard, epoch, version,
        planned_from, planned_through, next_fire_at, job, queue, priority, until, tzdata, touched
    )
), fence AS MATERIALIZED (
    SELECT known.shard, known.epoch
    FROM fencepost.epochs AS known
    JOIN (SELECT DISTINCT shard, epoch FROM plan) AS asked
        ON asked.shard = known.shard AND asked.epoch = known.epoch
    ORDER BY known.shard
    FOR SHARE OF known
), free AS MATERIALIZED (
    SELECT plan.*
    FROM plan
    JOIN fence ON fence.shard = plan.shard AND fence.epoch = plan.epoch
    JOIN fencepost.cursors AS cursor
        ON cursor.namespace = {key(plan.namespace)}
        AND cursor.schedule_id = plan.schedule_id
        AND cursor.shard = {key(plan.shard)}
        AND cursor.version = plan.version
        AND cursor.planned_through = plan.planned_from
        AND cursor.until IS NOT DISTINCT FROM plan.until
        AND cursor.touched = plan.touched
        AND cursor.next_fire_at IS NOT NULL
        AND cursor.planned_through <= plan.planned_through
    FOR NO KEY UPDATE OF cursor SKIP LOCKED
), advanced AS (
    UPDATE fencepost.cursors AS cursor
    SET planned_through = plan.planned_through, next_fire_at = plan.next_fire_at, tzdata = plan.tzdata
    FROM free AS plan
    WHERE cursor.namespace = {key(plan.namespace)}
        AND cursor.schedule_id = plan.schedule_id
        AND cursor.version = plan.version
    RETURNING plan.number, plan.namespace, plan.schedule_id, plan.version, plan.epoch, plan.job,
        plan.queue, plan.priority, plan.planned_from, cursor.frozen
), written AS (
    INSERT INTO fencepost.runs (
        namespace, run_key, schedule_id, job, fire_time, version, state, epoch, queue, priority, run_at,
        origin, held, created_at
    )
    SELECT advanced.namespace, tick.run_key, advanced.schedule_id, advanced.job, tick.fire_time,
        advanced.version, 'planned', advanced.epoch, advanced.queue,
        CASE WHEN tick.catches_up THEN 5 ELSE advanced.priority END,
        tick.run_at,
        CASE WHEN tick.catches_up THEN 'catch_up' ELSE 'live' END,
        CASE WHEN advanced.frozen THEN 2 ELSE 0 END, fencepost.now()
    FROM unnest($16::bigint[], $17::text[], $18::timestamptz[], $19::timestamptz[], $20::boolean[])
        AS tick (number, run_key, fire_time, run_at, catches_up)
    JOIN advanced ON advanced.number = tick.number
    WHERE {is_free(tick)}
    ON CONFLICT (namespace, run_key) DO NOTHING
    RETURNING run_key
), missed AS MATERIALIZED (
    SELECT advanced.number, gone.reason, min(gone.fire_time) AS first_at, max(gone.fire_time) AS last_at,
        max(gone.through) AS through, count(*) AS ticks
    FROM unnest($21::bigint[], $22::text[], $23::timestamptz[], $24::timestamptz[])
        AS gone (number, reason, fire_time, through)
    JOIN advanced ON advanced.number = gone.number
    WHERE {is_free(gone)}
    GROUP BY advanced.number, gone.reason
), grown AS (
    UPDATE fencepost.missed_ranges AS range
    SET last_at = missed.last_at, through = missed.through, ticks = range.ticks + missed.ticks,
        untold = range.untold + missed.ticks
    FROM missed
    JOIN advanced ON advanced.number = missed.number
    WHERE range.namespace = {key(advanced.namespace)}
        AND range.schedule_id = advanced.schedule_id
        AND range.version = advanced.version
        AND range.reason = missed.reason
        AND range.through = advanced.planned_from
    RETURNING missed.number, missed.reason
), begun AS (
    INSERT INTO fencepost.missed_ranges (
        namespace, schedule_id, version, first_at, last_at, through, ticks, untold, reason
    )
    SELECT advanced.namespace, advanced.schedule_id, advanced.version, missed.first_at, missed.last_at,
        missed.through, missed.ticks, missed.ticks, missed.reason
    FROM missed
    JOIN advanced ON advanced.number = missed.number
    WHERE NOT EXISTS (
        SELECT 1 FROM grown WHERE grown.number = missed.number AND grown.reason = missed.reason
    )
)
SELECT
    ARRAY(SELECT shard FROM fence) AS fenced,
    ARRAY(SELECT number FROM advanced) AS advanced,
    total.written,
    CASE WHEN total.written > 0 THEN pg_notify('fencepost_runs', '') END AS told
FROM (SELECT count(*) AS written FROM written) AS total;
