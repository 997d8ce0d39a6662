-- What a claim does with the verdicts, under the locks of the schedules. A tick that another held, called
-- off or started since the facts were read is not touched: it is named by its key, and compared again.
-- part: may_begin(given)
run.namespace = {key({given}.namespace)} AND run.run_key = {given}.run_key
    AND run.finished_at IS NULL AND run.held IN (0, 8, 16, 32)

-- Ends, admissions to catch-up, and ticks that are parked. A tick that is locked is passed over, and judged again: a parked
-- one is locked for long where the run before it has ended in its job's own transaction, which unparks it.
-- name: settle
WITH given AS MATERIALIZED (
    SELECT each.*, run.ctid AS place
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[])
        AS each (namespace, run_key, state, reason, blocked_by, held, origin)
    JOIN fencepost.runs AS run
        ON {may_begin(each)} AND run.fence = 0
    FOR NO KEY UPDATE OF run SKIP LOCKED
)
UPDATE fencepost.runs AS run
SET state = coalesce(given.state, run.state),
    finished_at = CASE WHEN given.state IS NOT NULL THEN fencepost.now() END,
    origin = coalesce(given.origin, run.origin),
    priority = CASE WHEN given.origin IS NULL THEN run.priority ELSE 5 END,
    reason = given.reason,
    blocked_by = given.blocked_by,
    held = given.held
FROM given
WHERE run.ctid = given.place
RETURNING given.state IS NOT NULL OR given.origin IS NOT NULL AS counts,
    given.state IS NOT NULL AND ({is_followed}) AS is_followed,
    run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.priority, run.state;

-- A run of a limited job begins when its limits let it. One from the line of its job (32) is locked, and may be a retry.
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
        first_started_at = coalesce(run.first_started_at, given.at, fencepost.now()),
        alive_until = fencepost.now() + make_interval(secs => $4),
        held = 0,
        slot = given.slot
    FROM given
    WHERE {may_begin(given)} AND (run.fence = 0 OR run.held = 32)
    RETURNING run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
        run.attempt, run.fence, run.epoch, run.payload, run.run_at, run.started_at, run.first_started_at,
        run.attempts_before_replay, run.queue, run.origin
)
SELECT started.*, version.spec
FROM started
LEFT JOIN fencepost.schedule_versions AS version ON {is_version_of(started)}
ORDER BY started.fence;
