-- The index on what is due also holds what will be due within the horizon. One probe for each queue
-- and priority of a namespace is a range of it that ends at the store's time, so the future is never walked.
-- The fifth priority is that of what comes behind live work. What is frozen is not seen.

-- A run of a lane that the worker can do.
-- part: is_of_lane(namespace, lane)
run.namespace = {namespace} AND run.queue = {lane}.queue AND run.priority = {lane}.priority
    AND run.job = ANY ($2::text[])

-- A run by hand that was to begin before now is for the reaper to end.
-- part: in_time(now)
(run.expires_at IS NULL OR run.expires_at > {now} OR run.first_started_at IS NOT NULL)

-- part: due_direct_in_time
{due_direct} AND {in_time((SELECT now FROM moment))}

-- part: first(runs, sign)
(
    SELECT run.run_at
    FROM fencepost.runs AS run
    WHERE {{runs}}
        AND {is_of_lane($3; slot)}
        AND run.run_at {sign} (SELECT now FROM moment)
    ORDER BY run.run_at
    LIMIT 1
)

-- name: outlook
WITH {moment}, slot AS (
    SELECT given.queue, each.priority::smallint AS priority
    FROM unnest($1::text[]) AS given (queue)
    CROSS JOIN generate_series(1, 5) AS each (priority)
    WHERE {is_open($3; given.queue)}
), direct AS (
    SELECT slot.priority, first.run_at, slot.queue
    FROM slot
    CROSS JOIN LATERAL {first(due_direct_in_time; <=)} AS first
), tick AS (
    SELECT slot.priority, first.run_at, slot.queue
    FROM slot
    CROSS JOIN LATERAL {first(due_ticks; <=)} AS first
), line AS MATERIALIZED (
    SELECT known.next_at, known.terms, first.priority, first.run_at, open.queue
    FROM fencepost.limits AS known
    CROSS JOIN (SELECT DISTINCT slot.queue FROM slot) AS open
    CROSS JOIN LATERAL (
        SELECT run.priority, run.run_at
        FROM fencepost.runs AS run
        WHERE {lined} AND run.namespace = $3 AND run.job = known.job AND run.queue = open.queue
        ORDER BY run.priority, run.run_at
        LIMIT 1
    ) AS first
    WHERE known.namespace = $3 AND known.job = ANY ($2::text[])
), future AS (
    SELECT next.run_at
    FROM slot
    CROSS JOIN LATERAL (
        {first(due_direct; >)} UNION ALL {first(due_ticks; >)}
    ) AS next
)
SELECT moment.now,
    ARRAY(SELECT ROW(priority, run_at, queue) FROM direct) AS directs,
    ARRAY(SELECT ROW(priority, run_at, queue) FROM tick) AS ticks,
    ARRAY(
        SELECT ROW(priority, run_at, queue, terms) FROM line WHERE coalesce(next_at, '-infinity') <= moment.now
    ) AS lined,
    least(
        (SELECT min(run_at) FROM future), (SELECT min(next_at) FROM line WHERE next_at > moment.now)
    ) AS next_due_at
FROM moment;

-- Rows are locked as they are walked, one lane after the other, each as far as its portion says; the walk ends at the
-- limit. The inner limit is for the server's planner, which knows nothing of a lane's. What is of a limited job
-- gets into the line of its job and takes up a place of the walk, so the caller looks again. A locked row stays where
-- it is and is found again by its place; one that was written since this statement began is left for the next claim.
-- A retry is claimed under the lock of its schedule, so that the fences of a schedule rise from claim to claim; where
-- another has the schedule, the walk goes on.
-- name: claim_direct
WITH due AS MATERIALIZED (
    SELECT ripe.place, ripe.job, lane.number
    FROM unnest($1::text[], $7::smallint[], $8::integer[]) WITH ORDINALITY
        AS lane (queue, priority, most, number)
    CROSS JOIN LATERAL (
        SELECT first.place, first.job
        FROM (
            SELECT run.ctid AS place, run.job
            FROM fencepost.runs AS run
            WHERE {due_direct} AND {in_time((SELECT fencepost.now()))}
                AND {is_of_lane($6; lane)}
                AND run.run_at <= (SELECT fencepost.now())
                AND CASE WHEN run.schedule_id IS NOT NULL THEN EXISTS (
                    SELECT 1
                    FROM fencepost.schedules AS schedule
                    WHERE schedule.namespace = run.namespace AND schedule.schedule_id = run.schedule_id
                    FOR NO KEY UPDATE SKIP LOCKED
                ) ELSE true END
            ORDER BY run.run_at
            LIMIT $3
            FOR UPDATE SKIP LOCKED
        ) AS first
        LIMIT lane.most
    ) AS ripe
    WHERE {is_open($6; lane.queue)}
    LIMIT $3
), limited AS MATERIALIZED (
    SELECT job FROM fencepost.limits WHERE namespace = $6
), lined AS (
    UPDATE fencepost.runs AS run
    SET held = 32
    FROM due
    WHERE run.ctid = due.place
        AND due.job IN (SELECT limited.job FROM limited)
    RETURNING 1
), claimed AS (
    UPDATE fencepost.runs AS run
    SET state = 'running',
        attempt = run.attempt + 1,
        fence = nextval('fencepost.fences'),
        reason = NULL,
        worker = $4,
        started_at = fencepost.now(),
        first_started_at = coalesce(run.first_started_at, fencepost.now()),
        alive_until = fencepost.now() + make_interval(secs => $5),
        slot = NULL
    FROM due
    WHERE run.ctid = due.place
        AND due.job NOT IN (SELECT limited.job FROM limited)
    RETURNING run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
        run.attempt, run.fence, run.epoch, run.payload, run.run_at, run.started_at, run.first_started_at,
        run.attempts_before_replay, run.queue, run.origin, due.number
)
SELECT claimed.*, swept.lined, version.spec,
    CASE WHEN claimed.schedule_id IS NOT NULL THEN (
        SELECT max(past.fire_time)
        FROM fencepost.runs AS past
        WHERE past.namespace = claimed.namespace
            AND past.schedule_id = claimed.schedule_id
            AND past.state = 'succeeded'
    ) END AS previous
FROM (SELECT count(*) AS lined FROM lined) AS swept
LEFT JOIN claimed ON true
LEFT JOIN fencepost.schedule_versions AS version ON {is_version_of(claimed)}
ORDER BY claimed.number, claimed.run_at, claimed.run_key;

-- The limits of jobs with a line in an open queue whose rate lets one go, those that no other claimer has.
-- name: open_lines
SELECT known.*, open.queues
FROM (SELECT ARRAY(SELECT queue FROM unnest($3::text[]) AS queue WHERE {is_open($1; queue)}) AS queues) AS open
CROSS JOIN fencepost.limits AS known
WHERE known.namespace = $1 AND known.job = ANY ($2::text[]) AND coalesce(known.next_at, '-infinity') <= fencepost.now()
    AND EXISTS (
        SELECT 1 FROM fencepost.runs AS run
        WHERE {lined} AND run.namespace = $1 AND run.job = known.job AND run.queue = ANY (open.queues)
    )
FOR UPDATE OF known SKIP LOCKED;

-- Of the ticks of a lane that are walked ($5) the first schedules are taken, each in the place of the first of its
-- ticks; one that another claimer has locked is passed over. A schedule with ticks in two lanes comes twice.
-- name: lock_due
SELECT ripe.namespace, ripe.schedule_id
FROM unnest($1::text[], $6::smallint[], $7::integer[]) AS lane (queue, priority, most)
CROSS JOIN LATERAL (
    SELECT first.namespace, first.schedule_id
    FROM (
        SELECT due.namespace, due.schedule_id
        FROM (
            SELECT run.namespace, run.schedule_id, run.run_at
            FROM fencepost.runs AS run
            WHERE {due_ticks}
                AND {is_of_lane($4; lane)}
                AND run.run_at <= (SELECT fencepost.now())
            ORDER BY run.run_at
            LIMIT $5
        ) AS due
        GROUP BY due.namespace, due.schedule_id
        ORDER BY min(due.run_at), due.namespace, due.schedule_id
    ) AS first
    CROSS JOIN LATERAL (
        SELECT 1
        FROM fencepost.schedules AS schedule
        WHERE schedule.namespace = first.namespace AND schedule.schedule_id = first.schedule_id
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS locked
    LIMIT lane.most
) AS ripe
WHERE {is_open($4; lane.queue)}
LIMIT $3;

-- Runs that wait for a slot get into line again, one for each place that is free; a tick becomes due, to be judged. The
-- outer limit is for the server's planner, which knows nothing of the inner one.
-- name: fill_slots
WITH slot AS MATERIALIZED (
    SELECT given.namespace, given.job, given.slot, known.concurrency - {running_in(given)} AS free
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, job, slot)
    JOIN fencepost.limits AS known ON known.namespace = given.namespace AND known.job = given.job
    WHERE known.concurrency IS NOT NULL
), first AS MATERIALIZED (
    SELECT waiting.namespace, waiting.run_key
    FROM slot
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.run_key
        FROM fencepost.runs AS run
        WHERE {limited} AND run.namespace = slot.namespace AND run.job = slot.job AND run.slot = slot.slot
        ORDER BY run.priority, run.run_at, run.run_key
        LIMIT greatest(slot.free, 0)
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    LIMIT 1000
), called AS (
    UPDATE fencepost.runs AS run
    SET held = CASE WHEN run.schedule_id IS NOT NULL AND run.fence = 0 THEN 0 ELSE 32 END
    FROM first
    WHERE run.namespace = {key(first.namespace)} AND run.run_key = first.run_key
    RETURNING 1
)
SELECT CASE WHEN EXISTS (SELECT 1 FROM called) THEN pg_notify('fencepost_runs', '') END AS told;
