-- part: of_schedule_between(row)
{row}.namespace = $1 AND {row}.schedule_id = given.schedule_id AND {row}.epoch >= 0
AND {row}.fire_time >= ($3::timestamptz[])[1]
AND {row}.fire_time < ($3::timestamptz[])[array_length($3::timestamptz[], 1)]

-- Of each schedule at most $4 runs are read, the latest ones. What fired together with the last of them is left out.
-- name: outcomes
WITH {moment}, looked_at AS (
    SELECT given.schedule_id, run.run_key, cut.known_from,
        width_bucket(run.fire_time, $3::timestamptz[]) - 1 AS stretch,
        {shown_state((SELECT now FROM moment))} AS state,
        run.origin = 'catch_up' OR coalesce(
            (run.due_at IS NOT NULL OR run.first_started_at >= run.run_at)
            AND extract(epoch FROM run.first_started_at - coalesce(run.due_at, run.run_at)) > $5::double precision,
            false
        ) AS late
    FROM unnest($2::text[]) AS given (schedule_id)
    LEFT JOIN LATERAL (
        SELECT known.fire_time AS known_from
        FROM fencepost.runs AS known
        WHERE {of_schedule_between(known)}
        ORDER BY known.fire_time DESC
        OFFSET $4::bigint - 1
        LIMIT 1
    ) AS cut ON true
    LEFT JOIN LATERAL (
        SELECT *
        FROM fencepost.runs AS one
        WHERE {of_schedule_between(one)} AND one.fire_time > coalesce(cut.known_from, '-infinity')
        ORDER BY one.fire_time DESC
        LIMIT $4
    ) AS run ON true
    WHERE run.run_key IS NOT NULL OR cut.known_from IS NOT NULL
)
SELECT schedule_id, known_from, stretch, state, late, count(*) AS runs, max(run_key) AS run_key
FROM looked_at
GROUP BY schedule_id, known_from, stretch, state, late
ORDER BY schedule_id, stretch, state, late;

-- name: traffic
WITH {moment}, fired AS (
    SELECT floor(extract(epoch FROM run.fire_time) / $3::integer)::bigint * $3::integer AS at_s,
        {shown_state((SELECT now FROM moment))} AS state,
        CASE
            WHEN run.due_at IS NOT NULL OR run.first_started_at >= run.run_at
            THEN greatest(extract(epoch FROM run.first_started_at - coalesce(run.due_at, run.run_at))::double precision, 0)
        END AS late_s,
        extract(epoch FROM run.finished_at - run.started_at)::double precision AS took_s
    FROM fencepost.runs AS run
    WHERE run.namespace = $1
        AND {of_any_state}
        AND run.fire_time <= (SELECT now FROM moment)
        AND run.fire_time >= (SELECT to_timestamp(
            floor(extract(epoch FROM now - make_interval(secs => $2)) / $3::integer) * $3::integer
        ) FROM moment)
), counted AS (
    SELECT at_s, state, count(*) AS runs FROM fired GROUP BY at_s, state
), parted AS (
    SELECT at_s,
        percentile_disc(ARRAY[0.5, 0.95, 1.0]) WITHIN GROUP (ORDER BY late_s) AS late,
        percentile_disc(ARRAY[0.5, 0.95, 1.0]) WITHIN GROUP (ORDER BY took_s) AS took
    FROM fired
    GROUP BY at_s
)
SELECT moment.now,
    ARRAY(SELECT ROW(counted.at_s, counted.state, counted.runs) FROM counted) AS counts,
    ARRAY(
        SELECT ROW(
            parted.at_s, parted.late[1], parted.late[2], parted.late[3],
            parted.took[1], parted.took[2], parted.took[3]
        )
        FROM parted
    ) AS parts
FROM moment;

-- name: tally_by_job
WITH {moment}, shown AS (
    SELECT run.job,
        {shown_state((SELECT now FROM moment))} AS state
    FROM fencepost.runs AS run
    WHERE run.namespace = $1
        AND {of_any_state}
        AND run.fire_time >= (SELECT now - make_interval(secs => $2) FROM moment)
        AND run.fire_time <= (SELECT now FROM moment)
)
SELECT job, state, count(*) AS runs FROM shown GROUP BY job, state;

-- part: lanes(known, runs)
SELECT names.namespace, first.queue, first.priority, first.run_at
FROM names
CROSS JOIN LATERAL (
    SELECT run.queue, run.priority, run.run_at
    FROM fencepost.runs AS run
    WHERE {{runs}} AND run.namespace = names.namespace
    ORDER BY run.queue, run.priority, run.run_at
    LIMIT 1
) AS first
UNION ALL
SELECT {known}.namespace, next.queue, next.priority, next.run_at
FROM {known}
CROSS JOIN LATERAL (
    SELECT run.queue, run.priority, run.run_at
    FROM fencepost.runs AS run
    WHERE {{runs}}
        AND run.namespace = {known}.namespace AND (run.queue, run.priority) > ({known}.queue, {known}.priority)
    ORDER BY run.queue, run.priority, run.run_at
    LIMIT 1
) AS next

-- part: due_lanes
direct AS (
    {lanes(direct; due_direct)}
), ticks AS (
    {lanes(ticks; due_ticks)}
)

-- part: counts(known, runs)
SELECT {known}.namespace, {known}.run_at AS oldest, (
    SELECT count(*)
    FROM (
        SELECT 1
        FROM fencepost.runs AS run
        WHERE {{runs}}
            AND run.namespace = {known}.namespace AND run.queue = {known}.queue
            AND run.priority = {known}.priority AND run.run_at <= moment.now
        LIMIT $3
    ) AS bounded
) AS runs
FROM moment
JOIN {known} ON {known}.run_at <= moment.now

-- part: late(known, runs)
SELECT {known}.queue, (
    SELECT count(*)
    FROM fencepost.runs AS run
    WHERE {{runs}}
        AND run.namespace = {known}.namespace AND run.queue = {known}.queue AND run.priority = {known}.priority
        AND run.run_at < moment.now - make_interval(secs => $3)
        AND run.fire_time >= moment.now - make_interval(secs => $2)
) AS runs
FROM moment
CROSS JOIN {known}

-- By the indexes of what may be taken: what is held is in neither.
-- name: overdue
WITH RECURSIVE {moment}, names AS (
    SELECT $1::text AS namespace
), {due_lanes}, late AS (
    {late(direct; due_direct)}
    UNION ALL
    {late(ticks; due_ticks)}
)
SELECT coalesce(sum(late.runs), 0)::bigint AS runs FROM late WHERE {is_open($1; late.queue)};

-- part: bounded(rows, condition)
(SELECT count(*) FROM (SELECT 1 FROM fencepost.{rows} WHERE {condition} LIMIT $3) AS bounded)::integer

-- Through what is due it leaps from one lane (a queue, a priority) to the next, whose first run
-- is its oldest. No count goes further than $3.
-- name: news
WITH RECURSIVE {moment}, told AS (
    (
        SELECT namespace, run_key, started_at AS at
        FROM fencepost.runs AS run
        WHERE {of_state('running')} AND started_at > $1 AND namespace = ANY ($5)
    )
    UNION ALL
    (
        SELECT namespace, run_key, finished_at
        FROM fencepost.runs
        WHERE finished_at IS NOT NULL AND NOT stripped AND finished_at > $1 AND namespace || '' = ANY ($5)
        ORDER BY finished_at DESC
        FETCH FIRST ($2::bigint) ROWS WITH TIES
    )
    UNION ALL
    (
        SELECT attempt.namespace, attempt.run_key, attempt.finished_at
        FROM fencepost.attempts AS attempt
        JOIN fencepost.runs AS failed
            ON failed.namespace = {key(attempt.namespace)}
            AND failed.run_key = attempt.run_key
            AND failed.attempt = attempt.attempt
        WHERE attempt.finished_at > $1 AND failed.state = 'ready' AND failed.namespace || '' = ANY ($5)
        ORDER BY attempt.finished_at DESC
        FETCH FIRST ($2::bigint) ROWS WITH TIES
    )
), latest AS (
    SELECT namespace, run_key, at FROM told ORDER BY at DESC, namespace, run_key LIMIT $2
), names AS (
    SELECT DISTINCT given.namespace FROM unnest($5::text[]) AS given (namespace)
), {due_lanes}, due AS (
    {counts(direct; due_direct)}
    UNION ALL
    {counts(ticks; due_ticks)}
), ready AS (
    SELECT namespace, sum(runs) AS runs, min(oldest) AS oldest FROM due GROUP BY namespace
), running AS (
    SELECT namespace, count(*) AS runs
    FROM fencepost.runs AS run
    WHERE {of_state('running')} AND namespace = ANY ($5)
    GROUP BY namespace
)
SELECT moment.now,
    (SELECT max(since) FROM fencepost.epochs) AS leases_at,
    ARRAY(
        SELECT ROW(
            run.namespace, run.run_key, run.schedule_id, run.job, run.state, run.origin, run.fire_time, run.run_at,
            run.started_at, run.finished_at, run.attempt, run.fence, run.worker,
            left(split_part(run.error, E'\n', 1), $4::integer), latest.at, run.first_started_at, run.due_at
        )
        FROM latest
        JOIN fencepost.runs AS run ON run.namespace = {key(latest.namespace)} AND run.run_key = latest.run_key
        ORDER BY latest.at DESC, latest.namespace, latest.run_key
    ) AS runs,
    ARRAY(
        SELECT ROW(
            names.namespace,
            least(coalesce(ready.runs, 0), $3)::integer,
            least(coalesce(running.runs, 0), $3)::integer,
            {bounded(runs AS run; run.version >= 0 AND run.state = 'dead' AND run.namespace = names.namespace)},
            {bounded(runs AS run; run.attempt >= 0 AND run.held <> 0 AND run.namespace = names.namespace)},
            {bounded(gates AS gate; gate.closed_at IS NOT NULL AND gate.namespace = names.namespace)},
            extract(epoch FROM moment.now - ready.oldest)::double precision,
            (
                SELECT max(schedule.updated_at)
                FROM fencepost.schedules AS schedule
                WHERE schedule.namespace = names.namespace AND schedule.version >= 0
            )
        )
        FROM names
        LEFT JOIN ready ON ready.namespace = names.namespace
        LEFT JOIN running ON running.namespace = names.namespace
    ) AS standings
FROM moment;
