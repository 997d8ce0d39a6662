-- The lines of limited jobs. A run stands in the line of its job (held by 32) or waits for a slot (16); what runs and
-- counts is what the ledger says is running, with a slot. Whoever rules on a job has its row in `limits`.

-- Both the row as it is under the lock, and, where another has it, only that it is there.
-- name: lock_limits
SELECT known.namespace, known.job, mine.terms, mine.paid_until
FROM unnest($1::text[], $2::text[]) AS given (namespace, job)
JOIN fencepost.limits AS known ON known.namespace = given.namespace AND known.job = given.job
LEFT JOIN LATERAL (
    SELECT own.terms, own.paid_until
    FROM fencepost.limits AS own
    WHERE own.namespace = given.namespace AND own.job = given.job
    FOR UPDATE SKIP LOCKED
) AS mine ON true;

-- name: lock_lines
SELECT known.namespace, known.job, known.terms, known.paid_until
FROM fencepost.limits AS known
WHERE known.namespace = $1
    AND known.job = ANY ($2::text[])
    AND (known.next_at IS NULL OR known.next_at <= fencepost.now())
    AND (
        SELECT first.found
        FROM unnest($3::text[]) AS open (queue)
        CROSS JOIN LATERAL (
            SELECT true AS found
            FROM fencepost.runs AS run
            WHERE run.held = 32
                AND run.namespace = known.namespace
                AND run.job = known.job
                AND run.queue = open.queue
            ORDER BY run.priority, run.run_at
            LIMIT 1
        ) AS first
        LIMIT 1
    )
ORDER BY known.job
FOR UPDATE OF known SKIP LOCKED;

-- One probe for each job and each queue that is not paused.
-- name: line
WITH lane AS MATERIALIZED (
    SELECT each.job, open.queue
    FROM unnest($2::text[]) AS each (job)
    CROSS JOIN unnest($3::text[]) AS open (queue)
    WHERE NOT EXISTS (
        SELECT 1
        FROM fencepost.freezes
        WHERE namespace = $1 AND (kind = 'all' OR (kind = 'queue' AND value = open.queue))
    )
)
SELECT first.job, first.run_key, first.queue, first.priority, first.run_at, first.payload, first.reason,
    first.is_tick, version.spec
FROM lane
CROSS JOIN LATERAL (
    SELECT run.namespace, run.job, run.run_key, run.queue, run.priority, run.run_at, run.payload, run.reason,
        run.schedule_id, run.version, run.schedule_id IS NOT NULL AND run.fence = 0 AS is_tick
    FROM fencepost.runs AS run
    WHERE run.held = 32
        AND run.namespace = $1
        AND run.job = lane.job
        AND run.queue = lane.queue
    ORDER BY run.priority, run.run_at
    LIMIT $4
    FOR UPDATE OF run SKIP LOCKED
) AS first
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = first.namespace
    AND version.schedule_id = first.schedule_id
    AND version.version = first.version;

-- Asked in a statement of its own, whose snapshot is younger than the locks. Each job comes at least once, so that
-- the time does.
-- name: running
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
)
SELECT moment.now, given.namespace, given.job, taken.slot, taken.runs
FROM moment
CROSS JOIN unnest($1::text[], $2::text[]) AS given (namespace, job)
LEFT JOIN LATERAL (
    SELECT run.slot, count(*) AS runs
    FROM fencepost.runs AS run
    WHERE run.slot IS NOT NULL
        AND run.state = 'running'
        AND run.namespace = given.namespace
        AND run.job = given.job
    GROUP BY run.slot
) AS taken ON true;

-- name: start_lined
WITH given AS MATERIALIZED (
    SELECT run_key, slot, nextval('fencepost.fences') AS fence
    FROM (
        SELECT run_key, slot
        FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS each (run_key, slot, number)
        ORDER BY number
    ) AS ordered
), claimed AS (
    UPDATE fencepost.runs AS run
    SET state = 'running',
        attempt = run.attempt + 1,
        fence = given.fence,
        reason = NULL,
        worker = $4,
        started_at = $6,
        begun_at = coalesce(run.begun_at, $6),
        alive_until = fencepost.now() + make_interval(secs => $5),
        held = 0,
        slot = given.slot
    FROM given
    WHERE run.namespace = $1 AND run.run_key = given.run_key AND run.held = 32
    RETURNING run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
        run.attempt, run.fence, run.epoch, run.payload, run.run_at, run.started_at, run.begun_at,
        run.spent, run.queue, run.origin
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
ORDER BY claimed.fence;

-- Whoever writes several runs locks them by key first, so that no two wait for each other.
-- name: lock_runs
SELECT 1
FROM unnest($1::text[], $2::text[]) AS given (namespace, run_key)
JOIN fencepost.runs AS run ON run.namespace = given.namespace AND run.run_key = given.run_key
ORDER BY run.namespace, run.run_key
FOR NO KEY UPDATE OF run;

-- What somebody held, called off or started meanwhile is not touched.
-- name: hold
UPDATE fencepost.runs AS run
SET held = given.hold, slot = given.slot, reason = given.reason
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::text[])
    AS given (namespace, run_key, hold, slot, reason)
WHERE run.namespace = given.namespace
    AND run.run_key = given.run_key
    AND run.finished_at IS NULL
    AND run.alive_until IS NULL
    AND run.held IN (0, 16, 32);

-- name: free
UPDATE fencepost.runs AS run
SET held = 0
FROM unnest($1::text[], $2::text[]) AS given (namespace, run_key)
WHERE run.namespace = given.namespace
    AND run.run_key = given.run_key
    AND run.finished_at IS NULL
    AND run.alive_until IS NULL
    AND run.held IN (16, 32);

-- name: pay
UPDATE fencepost.limits AS known
SET paid_until = given.paid_until, next_at = given.next_at
FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[])
    AS given (namespace, job, paid_until, next_at)
WHERE known.namespace = given.namespace AND known.job = given.job;

-- As many of those that wait for a slot as it has place for. A tick has to be judged, so it is due again; all else
-- gets into line. The inner limit is for the server's planner.
-- name: fill
WITH place AS MATERIALIZED (
    SELECT given.namespace, given.job, given.slot, greatest(0, known.concurrency - (
            SELECT count(*)
            FROM fencepost.runs AS run
            WHERE run.slot IS NOT NULL
                AND run.state = 'running'
                AND run.namespace = given.namespace
                AND run.job = given.job
                AND run.slot = given.slot
        )) AS free
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, job, slot)
    JOIN fencepost.limits AS known ON known.namespace = given.namespace AND known.job = given.job
    WHERE known.concurrency IS NOT NULL
), next AS MATERIALIZED (
    SELECT first.namespace, first.run_key
    FROM place
    CROSS JOIN LATERAL (
        SELECT each.namespace, each.run_key
        FROM (
            SELECT waiting.namespace, waiting.run_key
            FROM fencepost.runs AS waiting
            WHERE waiting.held = 16
                AND waiting.namespace = place.namespace
                AND waiting.job = place.job
                AND waiting.slot = place.slot
            ORDER BY waiting.priority, waiting.run_at
            LIMIT $4
            FOR UPDATE SKIP LOCKED
        ) AS each
        LIMIT place.free
    ) AS first
), rung AS (
    UPDATE fencepost.runs AS run
    SET held = CASE WHEN run.schedule_id IS NOT NULL AND run.fence = 0 THEN 0 ELSE 32 END
    FROM next
    WHERE run.namespace = next.namespace AND run.run_key = next.run_key
    RETURNING run.run_key
)
SELECT total.rung, CASE WHEN total.rung > 0 THEN pg_notify('fencepost_runs', '') END AS told
FROM (SELECT count(*) AS rung FROM rung) AS total;

-- The slots that somebody waits for are found by leaping through the index from one to the next; those with no place
-- for anybody are passed over, so that the first ones do not hide the others.
-- name: limited_slots
WITH RECURSIVE waiting AS (
    (
        SELECT run.namespace, run.job, run.slot
        FROM fencepost.runs AS run
        WHERE run.held = 16
        ORDER BY run.namespace, run.job, run.slot
        LIMIT 1
    )
    UNION ALL
    SELECT next.namespace, next.job, next.slot
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.job, run.slot
        FROM fencepost.runs AS run
        WHERE run.held = 16
            AND (run.namespace, run.job, run.slot) > (waiting.namespace, waiting.job, waiting.slot)
        ORDER BY run.namespace, run.job, run.slot
        LIMIT 1
    ) AS next
)
SELECT waiting.namespace, waiting.job, waiting.slot
FROM waiting
WHERE (
    SELECT known.concurrency
    FROM fencepost.limits AS known
    WHERE known.namespace = waiting.namespace AND known.job = waiting.job
) > (
    SELECT count(*)
    FROM fencepost.runs AS run
    WHERE run.slot IS NOT NULL
        AND run.state = 'running'
        AND run.namespace = waiting.namespace
        AND run.job = waiting.job
        AND run.slot = waiting.slot
)
LIMIT $1;

-- The first tick of each schedule that waits for the limits of its job, to have its schedule judged.
-- name: ring_ticks
WITH RECURSIVE waiting AS (
    (
        SELECT run.namespace, run.schedule_id
        FROM fencepost.runs AS run
        WHERE run.held IN (16, 32) AND run.schedule_id IS NOT NULL AND run.fence = 0
        ORDER BY run.namespace, run.schedule_id
        LIMIT 1
    )
    UNION ALL
    SELECT next.namespace, next.schedule_id
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.schedule_id
        FROM fencepost.runs AS run
        WHERE run.held IN (16, 32)
            AND run.schedule_id IS NOT NULL
            AND run.fence = 0
            AND (run.namespace, run.schedule_id) > (waiting.namespace, waiting.schedule_id)
        ORDER BY run.namespace, run.schedule_id
        LIMIT 1
    ) AS next
), next AS MATERIALIZED (
    SELECT first.namespace, first.run_key
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT tick.namespace, tick.run_key
        FROM fencepost.runs AS tick
        WHERE tick.namespace = waiting.namespace
            AND tick.schedule_id = waiting.schedule_id
            AND tick.held IN (16, 32)
            AND tick.fence = 0
        ORDER BY tick.fire_time, tick.run_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS first
    LIMIT $1
), rung AS (
    UPDATE fencepost.runs AS run
    SET held = 0
    FROM next
    WHERE run.namespace = next.namespace AND run.run_key = next.run_key
    RETURNING run.run_key
)
SELECT total.rung, CASE WHEN total.rung > 0 THEN pg_notify('fencepost_runs', '') END AS told
FROM (SELECT count(*) AS rung FROM rung) AS total;

-- A run may have got into line while its job lost its limits; one may wait for a slot that is none any more, where
-- whoever changed the limits died before all were released.
-- name: release_strays
WITH RECURSIVE line AS (
    (
        SELECT run.namespace, run.job
        FROM fencepost.runs AS run
        WHERE run.held = 32
        ORDER BY run.namespace, run.job
        LIMIT 1
    )
    UNION ALL
    SELECT next.namespace, next.job
    FROM line
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.job
        FROM fencepost.runs AS run
        WHERE run.held = 32 AND (run.namespace, run.job) > (line.namespace, line.job)
        ORDER BY run.namespace, run.job
        LIMIT 1
    ) AS next
), limited AS (
    (
        SELECT run.namespace, run.job
        FROM fencepost.runs AS run
        WHERE run.held = 16
        ORDER BY run.namespace, run.job
        LIMIT 1
    )
    UNION ALL
    SELECT next.namespace, next.job
    FROM limited
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.job
        FROM fencepost.runs AS run
        WHERE run.held = 16 AND (run.namespace, run.job) > (limited.namespace, limited.job)
        ORDER BY run.namespace, run.job
        LIMIT 1
    ) AS next
), stray AS MATERIALIZED (
    SELECT first.namespace, first.run_key
    FROM line
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.run_key
        FROM fencepost.runs AS run
        WHERE run.held = 32 AND run.namespace = line.namespace AND run.job = line.job
        LIMIT $1
    ) AS first
    WHERE NOT EXISTS (
        SELECT 1 FROM fencepost.limits AS known WHERE known.namespace = line.namespace AND known.job = line.job
    )
    UNION ALL
    SELECT first.namespace, first.run_key
    FROM limited
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.run_key
        FROM fencepost.runs AS run
        WHERE run.held = 16 AND run.namespace = limited.namespace AND run.job = limited.job
        LIMIT $1
    ) AS first
    WHERE NOT EXISTS (
        SELECT 1
        FROM fencepost.limits AS known
        WHERE known.namespace = limited.namespace
            AND known.job = limited.job
            AND known.concurrency IS NOT NULL
    )
), locked AS MATERIALIZED (
    SELECT run.namespace, run.run_key
    FROM stray
    JOIN fencepost.runs AS run ON run.namespace = stray.namespace AND run.run_key = stray.run_key
    WHERE run.held IN (16, 32)
    ORDER BY run.namespace, run.run_key
    FOR NO KEY UPDATE OF run
)
UPDATE fencepost.runs AS run
SET held = 0
FROM locked
WHERE run.namespace = locked.namespace AND run.run_key = locked.run_key;

-- name: put_limits
INSERT INTO fencepost.limits AS known (namespace, job, terms, concurrency)
SELECT $1, given.job, given.terms, given.concurrency
FROM unnest($2::text[], $3::text[], $4::integer[]) AS given (job, terms, concurrency)
ORDER BY given.job
ON CONFLICT (namespace, job) DO UPDATE
SET terms = excluded.terms, concurrency = excluded.concurrency, next_at = NULL
WHERE known.terms <> excluded.terms
RETURNING known.job;

-- name: drop_limits
WITH gone AS MATERIALIZED (
    SELECT own.namespace, own.job
    FROM fencepost.limits AS own
    WHERE own.namespace = $1 AND own.job = ANY ($2::text[])
    ORDER BY own.job
    FOR UPDATE
)
DELETE FROM fencepost.limits AS known
USING gone
WHERE known.namespace = gone.namespace AND known.job = gone.job
RETURNING known.job;

-- How many wait for limits of these jobs and for nothing else.
-- name: waiting
SELECT
    (
        SELECT count(*)
        FROM fencepost.runs AS run
        WHERE run.held = 32 AND run.namespace = $1 AND run.job = ANY ($2::text[])
    ) + (
        SELECT count(*)
        FROM fencepost.runs AS run
        WHERE run.held = 16 AND run.namespace = $1 AND run.job = ANY ($2::text[])
    );

-- So many at a time, each time in a transaction of its own.
-- name: release
WITH found AS MATERIALIZED (
    (
        SELECT run.run_key
        FROM fencepost.runs AS run
        WHERE run.held = 32 AND run.namespace = $1 AND run.job = ANY ($2::text[])
        LIMIT $3
    )
    UNION ALL
    (
        SELECT run.run_key
        FROM fencepost.runs AS run
        WHERE run.held = 16 AND run.namespace = $1 AND run.job = ANY ($2::text[])
        LIMIT $3
    )
    LIMIT $3
), locked AS MATERIALIZED (
    SELECT run.run_key
    FROM found
    JOIN fencepost.runs AS run ON run.namespace = $1 AND run.run_key = found.run_key
    WHERE run.held & 48 <> 0
    ORDER BY run.run_key
    FOR NO KEY UPDATE OF run
), released AS (
    UPDATE fencepost.runs AS run
    SET held = run.held & ~48
    FROM locked
    WHERE run.namespace = $1 AND run.run_key = locked.run_key
    RETURNING 1
)
SELECT count(*) FROM released;

-- Those that somebody holds as well.
-- name: release_held
WITH found AS MATERIALIZED (
    SELECT run.run_key
    FROM fencepost.runs AS run
    WHERE run.namespace = $1
        AND run.held & 7 <> 0
        AND run.held & 48 <> 0
        AND run.job = ANY ($2::text[])
    LIMIT $3
), locked AS MATERIALIZED (
    SELECT run.run_key
    FROM found
    JOIN fencepost.runs AS run ON run.namespace = $1 AND run.run_key = found.run_key
    WHERE run.held & 48 <> 0
    ORDER BY run.run_key
    FOR NO KEY UPDATE OF run
), released AS (
    UPDATE fencepost.runs AS run
    SET held = run.held & ~48
    FROM locked
    WHERE run.namespace = $1 AND run.run_key = locked.run_key
    RETURNING 1
)
SELECT count(*) FROM released;

-- What began before its job had these limits. Without jobs it is what counts for nothing, of every limited job.
-- name: unstamped
SELECT run.namespace, run.run_key, run.payload, version.spec, known.terms
FROM fencepost.runs AS run
JOIN fencepost.limits AS known ON known.namespace = run.namespace AND known.job = run.job
LEFT JOIN fencepost.schedule_versions AS version
    ON version.namespace = run.namespace
    AND version.schedule_id = run.schedule_id
    AND version.version = run.version
WHERE run.state = 'running'
    AND CASE
        WHEN $1::text IS NULL THEN run.slot IS NULL
        ELSE run.namespace = $1 AND run.job = ANY ($2::text[])
    END;

-- name: stamp
WITH locked AS MATERIALIZED (
    SELECT run.namespace, run.run_key, given.slot
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, run_key, slot)
    JOIN fencepost.runs AS run ON run.namespace = given.namespace AND run.run_key = given.run_key
    WHERE run.alive_until IS NOT NULL
    ORDER BY run.namespace, run.run_key
    FOR NO KEY UPDATE OF run
)
UPDATE fencepost.runs AS run
SET slot = locked.slot
FROM locked
WHERE run.namespace = locked.namespace AND run.run_key = locked.run_key;
