-- A run whose row is locked has its own transaction open, or is being taken away just now. It is not waited for:
-- the first cannot be taken away while the lock is held, and the second hears of it with the next heartbeat.
-- name: pulse
WITH given AS MATERIALIZED (
    SELECT * FROM {tickets} AS each
), held AS MATERIALIZED (
    SELECT run.namespace, run.run_key, given.number, run.cancel_requested
    FROM given
    JOIN fencepost.runs AS run
        ON {is_attempt_of(given)}
        AND run.alive_until IS NOT NULL
    FOR UPDATE OF run SKIP LOCKED
), beaten AS (
    UPDATE fencepost.runs AS run
    SET alive_until = fencepost.now() + make_interval(secs => $5)
    FROM held
    WHERE run.namespace = {key(held.namespace)} AND run.run_key = held.run_key
    RETURNING held.number, held.cancel_requested
)
SELECT number - 1 AS number, cancel_requested FROM beaten
UNION ALL
SELECT given.number - 1 AS number, run.cancel_requested
FROM given
JOIN fencepost.runs AS run
    ON {is_attempt_of(given)}
    AND run.alive_until IS NOT NULL
WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.number = given.number);

-- A retry of a run that was asked to stop is its end.
-- part: is_called_off
given.retry_in_s IS NOT NULL AND run.cancel_requested

-- part: ends
given.retry_in_s IS NULL OR run.cancel_requested

-- The first tick of each of these schedules that waits for its turn, and for nothing else, becomes due. One that another
-- has locked is being judged, or unparked, already; so nothing is waited for here.
-- part: unparked(schedules, most)
next AS MATERIALIZED (
    SELECT first.namespace, first.run_key
    FROM {schedules}
    CROSS JOIN LATERAL (
        SELECT run.namespace, run.run_key
        FROM fencepost.runs AS run
        WHERE {parked} AND run.namespace = {schedules}.namespace AND run.schedule_id = {schedules}.schedule_id
        ORDER BY run.fire_time, run.run_key
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS first
    LIMIT {most}
), woken AS (
    UPDATE fencepost.runs AS run
    SET held = 0
    FROM next
    WHERE run.namespace = {key(next.namespace)} AND run.run_key = next.run_key
    RETURNING run.run_key
)

-- What the attempt leaves behind reads the run as it was before this statement: there the worker
-- still is. Runs are locked in the order of their keys' bytes, as by rules.
--
-- A run that others follow is left to the rules, which enqueue them.
--
-- Where a run of a schedule has ended, a tick of it is unparked. A run by hand asks nothing, and a schedule where no tick
-- waits costs a look into an index that is empty most of the time.
-- name: finish
WITH given AS MATERIALIZED (
    SELECT coalesce(each.namespace, ($1::text[])[1]) AS namespace, each.run_key,
        coalesce(each.attempt, ($3::integer[])[1]) AS attempt, each.fence,
        coalesce(each.state, ($5::text[])[1]) AS state, each.reason, each.error, each.detail, each.output,
        each.retry_in_s, each.number
    FROM unnest(
        $1::text[], {split($2)}, $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::text[], $10::double precision[]
    ) WITH ORDINALITY AS each (
        namespace, run_key, attempt, fence, state, reason, error, detail, output, retry_in_s, number
    )
    ORDER BY namespace COLLATE "C", run_key COLLATE "C"
), done AS (
    UPDATE fencepost.runs AS run
    SET state = CASE WHEN {is_called_off} THEN 'cancelled' ELSE given.state END,
        reason = CASE WHEN {is_called_off} THEN $11 ELSE given.reason END,
        error = given.error,
        alive_until = NULL,
        finished_at = CASE WHEN {ends} THEN fencepost.now() END,
        worker = CASE WHEN {ends} THEN run.worker END,
        run_at = CASE WHEN {ends} THEN run.run_at ELSE fencepost.now() + make_interval(secs => given.retry_in_s) END,
        due_at = CASE WHEN {ends} THEN run.due_at ELSE coalesce(run.due_at, run.run_at) END,
        held = CASE WHEN {ends} THEN 0 ELSE run.held END
    FROM given
    WHERE {is_attempt_of(given)}
        AND run.alive_until IS NOT NULL
        AND NOT ({is_followed})
    RETURNING given.*, run.schedule_id, run.job, run.slot, run.finished_at IS NOT NULL AS ended,
        run.awaited
), freed AS (
    SELECT DISTINCT namespace, schedule_id FROM done WHERE ended AND schedule_id IS NOT NULL
), {unparked(freed; ALL)}, kept AS (
    INSERT INTO fencepost.attempts (
        namespace, run_key, attempt, fence, worker, started_at, finished_at, outcome, error, detail,
        output
    )
    SELECT done.namespace, done.run_key, done.attempt, done.fence, run.worker, run.started_at,
        fencepost.now(), CASE WHEN done.retry_in_s IS NULL THEN done.state ELSE 'failed' END,
        done.error, done.detail, done.output
    FROM done
    JOIN fencepost.runs AS run ON run.namespace = {key(done.namespace)} AND run.run_key = done.run_key
    WHERE done.error IS NOT NULL OR done.output IS NOT NULL
    ON CONFLICT (namespace, run_key, attempt) DO NOTHING
)
SELECT total.numbers,
    ARRAY(SELECT DISTINCT ROW(namespace, job, slot) FROM done WHERE slot IS NOT NULL) AS freed,
    CASE WHEN total.at_once OR EXISTS (SELECT 1 FROM woken) THEN pg_notify('fencepost_runs', '') END AS told,
    CASE WHEN total.awaited THEN pg_notify('fencepost_ended', '') END AS told_of_ends
FROM (
    SELECT array_agg(number - 1) AS numbers, bool_or(NOT ended AND retry_in_s <= 0) AS at_once,
        bool_or(ended AND awaited) AS awaited
    FROM done
) AS total;

-- Where the sweep before this one was a moment ago, as nearly always, this notes the sweep, and says whether there is
-- anything for a reaper to do. Else the rule has to look.
-- name: note_sweep
WITH RECURSIVE lane AS (
    {leaps(lane; namespace, queue; due_ticks)}
), {moment}, noted AS (
    UPDATE fencepost.meta AS known
    SET value = {as_text(moment.now)}
    FROM moment
    WHERE known.name = 'swept_at'
        AND known.value::timestamptz BETWEEN moment.now - make_interval(secs => $1) AND moment.now
    RETURNING moment.now
)
SELECT noted.now,
    NOT EXISTS (
        SELECT 1
        FROM fencepost.runs
        WHERE expires_at <= noted.now AND state IN ('planned', 'ready') AND first_started_at IS NULL
    )
    AND NOT EXISTS (SELECT 1 FROM fencepost.runs AS run WHERE {of_state('running')})
    AND NOT EXISTS (SELECT 1 FROM fencepost.runs WHERE held = 8)
    AND NOT EXISTS (SELECT 1 FROM fencepost.runs WHERE held = 16)
    AND NOT EXISTS (SELECT 1 FROM fencepost.runs WHERE held = 32)
    AND NOT EXISTS (
        SELECT 1
        FROM fencepost.runs
        WHERE schedule_id IS NOT NULL AND fence > 0 AND state IN ('ready', 'running')
    )
    AND NOT EXISTS (
        SELECT 1
        FROM lane
        CROSS JOIN generate_series(1, 5) AS slot (priority)
        CROSS JOIN LATERAL (
            SELECT 1
            FROM fencepost.runs AS run
            WHERE {due_ticks} AND run.namespace = lane.namespace AND run.queue = lane.queue
                AND run.priority = slot.priority::smallint AND run.run_at <= noted.now
            LIMIT 1
        ) AS due
    ) AS quiet
FROM noted;

-- name: expired
SELECT run.namespace, run.run_key, run.attempt, run.fence, run.worker, run.cancel_requested,
    extract(epoch FROM $2 - run.alive_until)::double precision AS silent_for_s,
    run.attempts_before_replay, job.spec AS job_spec
FROM fencepost.runs AS run
LEFT JOIN fencepost.jobs AS job ON job.namespace = run.namespace AND job.name = run.job
WHERE {of_state('running')} AND run.alive_until < $2::timestamptz
ORDER BY run.alive_until, run.run_key
LIMIT $1;

-- part: removed(rows)
{rows} AS (
    DELETE FROM fencepost.{rows} AS own
    USING old
    WHERE own.namespace = {key(old.namespace)} AND own.run_key = old.run_key
)

-- A tick that a cursor may still come by stays, because its row is what would stop it; after a pause the next
-- cursor can begin where the pause did.
-- name: forget
WITH cutoff AS MATERIALIZED (
    SELECT fencepost.now() - make_interval(secs => $1) AS at
), old AS MATERIALIZED (
    SELECT namespace, run_key, schedule_id
    FROM fencepost.runs AS run
    WHERE finished_at < (SELECT at FROM cutoff)
        AND NOT stripped
        AND (state <> 'dead' OR finished_at < fencepost.now() - make_interval(secs => greatest($1, $3::double precision)))
        AND (schedule_id IS NULL OR fire_time < (SELECT at FROM cutoff))
        AND (
            run.state = 'withdrawn'
            OR (run.origin = 'manual' AND run.epoch = 0)
            OR NOT EXISTS (
                SELECT 1
                FROM fencepost.cursors AS cursor
                JOIN fencepost.schedules AS schedule USING (namespace, schedule_id)
                WHERE cursor.namespace = run.namespace
                    AND cursor.schedule_id = run.schedule_id
                    AND CASE
                        WHEN cursor.until < run.fire_time
                            THEN schedule.state = 'paused' AND cursor.version = schedule.version
                        ELSE cursor.next_fire_at IS NOT NULL AND cursor.planned_through < run.fire_time
                    END
            )
        )
    ORDER BY finished_at
    LIMIT $2
    FOR UPDATE OF run SKIP LOCKED
), {removed(attempts)}, {removed(steps)}, {removed(run_logs)}, {removed(run_links)}, removed AS (
    DELETE FROM fencepost.runs AS run
    USING old
    WHERE run.namespace = {key(old.namespace)} AND run.run_key = old.run_key
        AND old.schedule_id IS NOT NULL
), stripped AS (
    UPDATE fencepost.runs AS run
    SET payload = NULL, error = NULL, progress = NULL, note = NULL, progress_at = NULL, stripped = true
    FROM old
    WHERE run.namespace = {key(old.namespace)} AND run.run_key = old.run_key
        AND old.schedule_id IS NULL
), freed AS (
    DELETE FROM fencepost.unique_runs AS own
    USING old
    WHERE own.namespace = {key(old.namespace)} AND own.run_key = old.run_key
        AND own.until <= fencepost.now()
), noted AS (
    INSERT INTO fencepost.meta AS known (name, value)
    SELECT 'forgotten_before', {as_text(cutoff.at)}
    FROM cutoff
    WHERE EXISTS (SELECT 1 FROM old WHERE schedule_id IS NOT NULL)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    WHERE known.value::timestamptz < excluded.value::timestamptz
)
SELECT count(*) FROM old;

-- Whether something is in the way of a parked tick is for the judge to say. The schedules with such ticks are
-- found by leaping through the index from one to the next.
-- name: unpark
WITH RECURSIVE waiting AS (
    {leaps(waiting; namespace, schedule_id; parked)}
), {unparked(waiting; $1)}
SELECT total.unparked, CASE WHEN total.unparked > 0 THEN pg_notify('fencepost_runs', '') END AS told,
    EXISTS (SELECT 1 FROM fencepost.runs WHERE held = 32)
        OR EXISTS (SELECT 1 FROM fencepost.runs WHERE held = 16) AS limited,
    EXISTS (
        SELECT 1
        FROM fencepost.limits AS known
        JOIN fencepost.runs AS run ON run.namespace = known.namespace AND run.job = known.job
        WHERE {of_state('running')} AND run.slot IS NULL
    ) AS unstamped,
    EXISTS (
        SELECT 1
        FROM fencepost.runs AS run
        WHERE run.schedule_id IS NOT NULL
            AND run.fence > 0
            AND run.state IN ('ready', 'running')
            AND (run.held & 2 <> 0) <> (
                SELECT schedule.frozen
                FROM fencepost.schedules AS schedule
                WHERE schedule.namespace = run.namespace AND schedule.schedule_id = run.schedule_id
            )
    ) AS left_by_a_freeze
FROM (SELECT count(*) AS unparked FROM woken) AS total;

-- The slots that some run waits for are found by leaping through the index from one to the next; those with no place
-- are passed over, so that the first ones do not hide the others.
-- name: limited_slots
WITH RECURSIVE waiting AS (
    {leaps(waiting; namespace, job, slot; limited)}
)
SELECT waiting.namespace, waiting.job, waiting.slot
FROM waiting
WHERE (
    SELECT known.concurrency
    FROM fencepost.limits AS known
    WHERE known.namespace = waiting.namespace AND known.job = waiting.job
) > {running_in(waiting)}
LIMIT $1;
