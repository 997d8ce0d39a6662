-- What a claim does with the verdicts, under the locks of the schedules. A tick that somebody held, called
-- off or started since the facts were read is not touched: it is named by its key, and compared again.

-- A parked tick is locked for long where the run before it has ended in its job's own transaction, which
-- unparks it. It is judged again after that.
-- name: end
WITH given AS MATERIALIZED (
    SELECT each.*
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
        AS each (namespace, run_key, state, reason, met)
    JOIN fencepost.runs AS run
        ON run.namespace = each.namespace AND run.run_key = each.run_key
        AND run.fence = 0
        AND run.finished_at IS NULL
        AND run.held IN (0, 8, 16, 32)
    FOR NO KEY UPDATE OF run SKIP LOCKED
)
UPDATE fencepost.runs AS run
SET state = given.state, reason = given.reason, met = given.met, finished_at = fencepost.now(), held = 0
FROM given
WHERE run.namespace = given.namespace AND run.run_key = given.run_key
RETURNING run.run_key;

-- name: admit
UPDATE fencepost.runs AS run
SET origin = 'catch_up', priority = 5, reason = given.reason, held = given.held
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) AS given (namespace, run_key, held, reason)
WHERE run.namespace = given.namespace AND run.run_key = given.run_key
    AND run.fence = 0
    AND run.finished_at IS NULL
    AND run.held IN (0, 8, 16, 32)
RETURNING run.run_key;

-- name: wait
UPDATE fencepost.runs AS run
SET held = 8, reason = given.reason
FROM unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, run_key, reason)
WHERE run.namespace = given.namespace AND run.run_key = given.run_key
    AND run.fence = 0
    AND run.finished_at IS NULL
    AND run.held IN (0, 8, 16, 32);

-- A tick of a limited job begins at the moment at which its limits let it.
-- name: start
WITH given AS MATERIALIZED (
    SELECT namespace, run_key, slot, at, nextval('fencepost.fences') AS fence
    FROM (
        SELECT coalesce(namespace, ($1::text[])[1]) AS namespace, run_key, slot, at
        FROM unnest($1::text[], $2::text[], $5::text[], $6::timestamptz[]) WITH ORDINALITY
            AS each (namespace, run_key, slot, at, number)
        ORDER BY number
    ) AS ordered
), started AS (
    UPDATE fencepost.runs AS run
    SET state = 'running',
        attempt = run.attempt + 1,
        fence = given.fence,
        reason = NULL,
        worker = $3,
        started_at = coalesce(given.at, fencepost.now()),
        begun_at = coalesce(given.at, fencepost.now()),
        alive_until = fencepost.now() + make_interval(secs => $4),
        held = 0,
        slot = given.slot
    FROM given
    WHERE run.namespace = given.namespace AND run.run_key = given.run_key
        AND run.fence = 0
        AND run.finished_at IS NULL
        AND run.held IN (0, 8, 16, 32)
    RETURNING run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
        run.attempt, run.fence, run.epoch, run.payload, run.run_at, run.started_at, run.begun_at,
        run.spent, run.queue, run.origin
)
SELECT started.*, version.spec
FROM started
JOIN fencepost.schedule_versions AS version
    ON version.namespace = started.namespace
    AND version.schedule_id = started.schedule_id
    AND version.version = started.version
ORDER BY started.fence;
