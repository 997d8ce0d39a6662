-- The index on what is due also holds what will be due within the horizon. One probe for each queue
-- and priority of a namespace is a range of it that ends at the store's time, so the future is never walked.

-- name: outlook
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), slot AS (
    SELECT queue, priority::smallint AS priority
    FROM unnest($1::text[]) AS given (queue)
    CROSS JOIN generate_series(1, 4) AS each (priority)
), direct AS (
    SELECT slot.priority, first.run_at
    FROM slot
    CROSS JOIN LATERAL (
        SELECT run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready')
            AND (run.schedule_id IS NULL OR run.fence > 0)
            AND run.namespace = $3
            AND run.queue = slot.queue
            AND run.priority = slot.priority
            AND run.job = ANY ($2::text[])
            AND run.run_at <= (SELECT now FROM moment)
        ORDER BY run.run_at
        LIMIT 1
    ) AS first
    ORDER BY slot.priority, first.run_at
    LIMIT 1
), tick AS (
    SELECT slot.priority, first.run_at
    FROM slot
    CROSS JOIN LATERAL (
        SELECT run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready')
            AND run.schedule_id IS NOT NULL
            AND run.fence = 0
            AND run.namespace = $3
            AND run.queue = slot.queue
            AND run.priority = slot.priority
            AND run.job = ANY ($2::text[])
            AND run.run_at <= (SELECT now FROM moment)
        ORDER BY run.run_at
        LIMIT 1
    ) AS first
    ORDER BY slot.priority, first.run_at
    LIMIT 1
), future AS (
    SELECT next.run_at
    FROM slot
    CROSS JOIN LATERAL (
        (
            SELECT run_at
            FROM fencepost.runs AS run
            WHERE run.state IN ('planned', 'ready')
                AND (run.schedule_id IS NULL OR run.fence > 0)
                AND run.namespace = $3
                AND run.queue = slot.queue
                AND run.priority = slot.priority
                AND run.job = ANY ($2::text[])
                AND run.run_at > (SELECT now FROM moment)
            ORDER BY run.run_at
            LIMIT 1
        )
        UNION ALL
        (
            SELECT run_at
            FROM fencepost.runs AS run
            WHERE run.state IN ('planned', 'ready')
                AND run.schedule_id IS NOT NULL
                AND run.fence = 0
                AND run.namespace = $3
                AND run.queue = slot.queue
                AND run.priority = slot.priority
                AND run.job = ANY ($2::text[])
                AND run.run_at > (SELECT now FROM moment)
            ORDER BY run.run_at
            LIMIT 1
        )
    ) AS next
)
SELECT moment.now,
    direct.priority AS direct_priority,
    direct.run_at AS direct_run_at,
    tick.priority AS tick_priority,
    tick.run_at AS tick_run_at,
    (SELECT min(run_at) FROM future) AS next_due_at
FROM moment
LEFT JOIN direct ON true
LEFT JOIN tick ON true;

-- Rows are locked as they are walked, one priority after the other, and the walk ends at the limit;
-- only among several queues of one priority are more rows locked than taken.
-- name: claim_direct
WITH due AS MATERIALIZED (
    SELECT ripe.namespace, ripe.run_key
    FROM generate_series(1, 4) AS slot (priority)
    CROSS JOIN LATERAL (
        SELECT first.namespace, first.run_key
        FROM unnest($1::text[]) AS given (queue)
        CROSS JOIN LATERAL (
            SELECT run.namespace, run.run_key, run.run_at
            FROM fencepost.runs AS run
            WHERE run.state IN ('planned', 'ready')
                AND (run.schedule_id IS NULL OR run.fence > 0)
                AND run.namespace = $6
                AND run.queue = given.queue
                AND run.priority = slot.priority::smallint
                AND run.job = ANY ($2::text[])
                AND run.run_at <= (SELECT fencepost.now())
            ORDER BY run.run_at
            LIMIT $3
            FOR UPDATE SKIP LOCKED
        ) AS first
        ORDER BY first.run_at
        LIMIT $3
    ) AS ripe
    LIMIT $3
), claimed AS (
    UPDATE fencepost.runs AS run
    SET state = 'running',
        attempt = run.attempt + 1,
        fence = nextval('fencepost.fences'),
        worker = $4,
        started_at = fencepost.now(),
        alive_until = fencepost.now() + make_interval(secs => $5)
    FROM due
    WHERE run.namespace = due.namespace AND run.run_key = due.run_key
    RETURNING run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
        run.attempt, run.fence, run.epoch, run.payload, run.run_at, run.started_at, run.priority
)
SELECT claimed.*, version.spec,
    CASE WHEN claimed.schedule_id IS NOT NULL THEN (
        SELECT max(past.fire_time)
        FROM fencepost.runs AS past
        WHERE past.namespace = claimed.namespace
            AND past.schedule_id = claimed.schedule_id
            AND past.state = 'succeeded'
    ) END AS previous
FROM claimed
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = claimed.namespace
    AND version.schedule_id = claimed.schedule_id
    AND version.version = claimed.version
ORDER BY claimed.priority, claimed.run_at, claimed.fence;

-- Of the ticks walked ($5 of each queue and priority) the first schedules are taken; one that another
-- claimer has locked is passed over.
-- name: lock_due
SELECT ripe.namespace, ripe.schedule_id
FROM (
    SELECT due.namespace, due.schedule_id
    FROM generate_series(1, 4) AS slot (priority)
    CROSS JOIN unnest($1::text[]) AS given (queue)
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.schedule_id, run.run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready')
            AND run.schedule_id IS NOT NULL
            AND run.fence = 0
            AND run.namespace = $4
            AND run.queue = given.queue
            AND run.priority = slot.priority::smallint
            AND run.job = ANY ($2::text[])
            AND run.run_at <= (SELECT fencepost.now())
        ORDER BY run.run_at
        LIMIT $5
    ) AS due
    GROUP BY due.namespace, due.schedule_id
    ORDER BY min(slot.priority), min(due.run_at)
) AS ripe
CROSS JOIN LATERAL (
    SELECT 1
    FROM fencepost.schedules AS schedule
    WHERE schedule.namespace = ripe.namespace AND schedule.schedule_id = ripe.schedule_id
    FOR NO KEY UPDATE SKIP LOCKED
) AS locked
LIMIT $3;

-- The lanes (pairs of namespace and queue) are found by leaping through the index from one to the next.
-- name: lock_late
WITH RECURSIVE lane AS (
    (
        SELECT run.namespace, run.queue
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready') AND run.schedule_id IS NOT NULL AND run.fence = 0
        ORDER BY run.namespace, run.queue
        LIMIT 1
    )
    UNION ALL
    SELECT next.namespace, next.queue
    FROM lane
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.queue
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready')
            AND run.schedule_id IS NOT NULL
            AND run.fence = 0
            AND (run.namespace, run.queue) > (lane.namespace, lane.queue)
        ORDER BY run.namespace, run.queue
        LIMIT 1
    ) AS next
)
SELECT ripe.namespace, ripe.schedule_id
FROM (
    SELECT late.namespace, late.schedule_id
    FROM lane
    CROSS JOIN generate_series(1, 4) AS slot (priority)
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.schedule_id, run.run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready')
            AND run.schedule_id IS NOT NULL
            AND run.fence = 0
            AND run.namespace = lane.namespace
            AND run.queue = lane.queue
            AND run.priority = slot.priority::smallint
            AND run.run_at <= (SELECT fencepost.now()) - make_interval(secs => $1)
        ORDER BY run.run_at
        LIMIT $3
    ) AS late
    GROUP BY late.namespace, late.schedule_id
    ORDER BY min(slot.priority), min(late.run_at)
) AS ripe
CROSS JOIN LATERAL (
    SELECT 1
    FROM fencepost.schedules AS schedule
    WHERE schedule.namespace = ripe.namespace AND schedule.schedule_id = ripe.schedule_id
    FOR NO KEY UPDATE SKIP LOCKED
) AS locked
LIMIT $2;

-- Asked in a statement of its own, whose snapshot is younger than the locks. Without queues ($3 is
-- null) every due tick counts.
-- name: facts
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
)
SELECT moment.now, given.namespace, given.schedule_id,
    due.keys AS due_keys,
    due.fire_times AS due_fire_times,
    due.run_ats AS due_run_ats,
    due.specs AS due_specs,
    newest.fire_time AS newest_due,
    ARRAY(
        SELECT run.run_key
        FROM fencepost.runs AS run
        WHERE run.namespace = given.namespace
            AND run.schedule_id = given.schedule_id
            AND run.fence > 0
            AND run.state IN ('ready', 'running')
        ORDER BY run.fire_time
    ) AS unfinished,
    last.run_key AS last_key,
    last.finished_at AS last_finished_at,
    (
        SELECT max(past.fire_time)
        FROM fencepost.runs AS past
        WHERE past.namespace = given.namespace
            AND past.schedule_id = given.schedule_id
            AND past.state = 'succeeded'
    ) AS previous
FROM moment
CROSS JOIN unnest($1::text[], $2::text[]) AS given (namespace, schedule_id)
CROSS JOIN LATERAL (
    SELECT array_agg(tick.run_key ORDER BY tick.fire_time, tick.run_key) AS keys,
        array_agg(tick.fire_time ORDER BY tick.fire_time, tick.run_key) AS fire_times,
        array_agg(tick.run_at ORDER BY tick.fire_time, tick.run_key) AS run_ats,
        array_agg(version.spec ORDER BY tick.fire_time, tick.run_key) AS specs,
        min(tick.priority) AS priority,
        min(tick.run_at) AS run_at
    FROM (
        SELECT run.run_key, run.fire_time, run.version, run.priority, run.run_at
        FROM fencepost.runs AS run
        WHERE run.namespace = given.namespace
            AND run.schedule_id = given.schedule_id
            AND run.state IN ('planned', 'ready')
            AND run.fence = 0
            AND run.run_at <= moment.now
            AND ($3::text[] IS NULL OR (run.queue = ANY ($3::text[]) AND run.job = ANY ($4::text[])))
        ORDER BY run.fire_time
        LIMIT $5
    ) AS tick
    JOIN fencepost.schedule_versions AS version
        ON version.namespace = given.namespace
        AND version.schedule_id = given.schedule_id
        AND version.version = tick.version
) AS due
CROSS JOIN LATERAL (
    SELECT run.fire_time
    FROM fencepost.runs AS run
    WHERE run.namespace = given.namespace
        AND run.schedule_id = given.schedule_id
        AND run.state IN ('planned', 'ready')
        AND run.fence = 0
        AND run.run_at <= moment.now
    ORDER BY run.fire_time DESC
    LIMIT 1
) AS newest
LEFT JOIN LATERAL (
    SELECT run.run_key, run.finished_at
    FROM fencepost.runs AS run
    WHERE run.namespace = given.namespace
        AND run.schedule_id = given.schedule_id
        AND run.fence > 0
        AND run.finished_at IS NOT NULL
    ORDER BY run.finished_at DESC
    LIMIT 1
) AS last ON true
WHERE due.keys IS NOT NULL
ORDER BY due.priority, due.run_at, given.namespace, given.schedule_id;

-- name: start
WITH given AS MATERIALIZED (
    SELECT namespace, run_key, nextval('fencepost.fences') AS fence
    FROM (
        SELECT namespace, run_key
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS each (namespace, run_key, number)
        ORDER BY number
    ) AS ordered
), started AS (
    UPDATE fencepost.runs AS run
    SET state = 'running',
        attempt = run.attempt + 1,
        fence = given.fence,
        worker = $3,
        started_at = fencepost.now(),
        alive_until = fencepost.now() + make_interval(secs => $4)
    FROM given
    WHERE run.namespace = given.namespace
        AND run.run_key = given.run_key
        AND run.attempt = 0
        AND run.finished_at IS NULL
    RETURNING run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
        run.attempt, run.fence, run.epoch, run.payload, run.run_at, run.started_at
)
SELECT started.*, version.spec
FROM started
JOIN fencepost.schedule_versions AS version
    ON version.namespace = started.namespace
    AND version.schedule_id = started.schedule_id
    AND version.version = started.version
ORDER BY started.fence;

-- name: end
UPDATE fencepost.runs AS run
SET state = given.state, reason = given.reason, finished_at = fencepost.now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
    AS given (namespace, run_key, state, reason)
WHERE run.namespace = given.namespace
    AND run.run_key = given.run_key
    AND run.attempt = 0
    AND run.finished_at IS NULL
RETURNING run.run_key;

-- name: adopt
SELECT run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version, run.attempt,
    run.fence, run.epoch, run.payload, run.run_at, run.started_at, version.spec,
    CASE WHEN run.schedule_id IS NOT NULL THEN (
        SELECT max(past.fire_time)
        FROM fencepost.runs AS past
        WHERE past.namespace = run.namespace
            AND past.schedule_id = run.schedule_id
            AND past.state = 'succeeded'
    ) END AS previous
FROM fencepost.runs AS run
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = run.namespace
    AND version.schedule_id = run.schedule_id
    AND version.version = run.version
WHERE run.state = 'running' AND run.worker = $1 AND run.fence <> ALL ($2::bigint[])
ORDER BY run.fence;
