-- name: traffic
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), fired AS (
    SELECT floor(extract(epoch FROM run.fire_time) / $3::integer)::bigint * $3::integer AS at_s,
        CASE WHEN run.state = 'planned' AND run.run_at <= moment.now THEN 'ready' ELSE run.state END AS state,
        CASE
            WHEN run.state <> 'ready' AND run.started_at >= run.run_at
            THEN extract(epoch FROM run.started_at - run.run_at)::double precision
        END AS late_s
    FROM moment
    JOIN fencepost.runs AS run
        ON run.namespace = $1
        AND run.version >= 0
        AND run.fire_time <= moment.now
        AND run.fire_time >= to_timestamp(
            floor(extract(epoch FROM moment.now - make_interval(secs => $2)) / $3::integer) * $3::integer
        )
), counted AS (
    SELECT at_s, state, count(*) AS runs FROM fired GROUP BY at_s, state
), late AS (
    SELECT at_s, percentile_disc(ARRAY[0.5, 0.95, 1.0]) WITHIN GROUP (ORDER BY late_s) AS parts
    FROM fired
    WHERE late_s IS NOT NULL
    GROUP BY at_s
)
SELECT moment.now,
    ARRAY(SELECT ROW(counted.at_s, counted.state, counted.runs) FROM counted) AS counts,
    ARRAY(SELECT ROW(late.at_s, late.parts[1], late.parts[2], late.parts[3]) FROM late) AS late
FROM moment;

-- name: tally_by_job
WITH moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), shown AS (
    SELECT run.job,
        CASE WHEN run.state = 'planned' AND run.run_at <= moment.now THEN 'ready' ELSE run.state END AS state
    FROM moment
    JOIN fencepost.runs AS run
        ON run.namespace = $1
        AND run.version >= 0
        AND run.fire_time BETWEEN moment.now - make_interval(secs => $2) AND moment.now
)
SELECT job, state, count(*) AS runs FROM shown GROUP BY job, state;

-- By the indexes of what may be taken: what is held is in neither.
-- name: overdue
SELECT count(*) AS runs
FROM (
    SELECT run.queue, run.fire_time, run.run_at
    FROM fencepost.runs AS run
    WHERE run.state IN ('planned', 'ready') AND (run.schedule_id IS NULL OR run.fence > 0) AND run.held = 0
        AND run.namespace = $1
        AND run.run_at < (SELECT fencepost.now()) - make_interval(secs => $3)
    UNION ALL
    SELECT run.queue, run.fire_time, run.run_at
    FROM fencepost.runs AS run
    WHERE run.state IN ('planned', 'ready') AND run.schedule_id IS NOT NULL AND run.attempt >= 0
        AND run.fence = 0 AND run.held = 0
        AND run.namespace = $1
        AND run.run_at < (SELECT fencepost.now()) - make_interval(secs => $3)
) AS free
WHERE free.fire_time >= (SELECT fencepost.now()) - make_interval(secs => $2)
    AND NOT EXISTS (
        SELECT 1
        FROM fencepost.freezes
        WHERE namespace = $1 AND (kind = 'all' OR (kind = 'queue' AND value = free.queue))
    );

-- Through what is due it leaps from one lane (a queue, a priority) to the next, whose first run
-- is its oldest. No count goes further than $3.
-- name: news
WITH RECURSIVE moment AS MATERIALIZED (
    SELECT fencepost.now() AS now
), told AS (
    (
        SELECT namespace, run_key, started_at AS at
        FROM fencepost.runs
        WHERE state = 'running' AND started_at > $1 AND namespace = ANY ($5)
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
            ON failed.namespace = attempt.namespace
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
), direct AS (
    SELECT names.namespace, first.queue, first.priority, first.run_at
    FROM names
    CROSS JOIN LATERAL (
        SELECT run.queue, run.priority, run.run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready') AND (run.schedule_id IS NULL OR run.fence > 0) AND run.held = 0
            AND run.namespace = names.namespace
        ORDER BY run.queue, run.priority, run.run_at
        LIMIT 1
    ) AS first
    UNION ALL
    SELECT direct.namespace, next.queue, next.priority, next.run_at
    FROM direct
    CROSS JOIN LATERAL (
        SELECT run.queue, run.priority, run.run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready') AND (run.schedule_id IS NULL OR run.fence > 0) AND run.held = 0
            AND run.namespace = direct.namespace AND (run.queue, run.priority) > (direct.queue, direct.priority)
        ORDER BY run.queue, run.priority, run.run_at
        LIMIT 1
    ) AS next
), ticks AS (
    SELECT names.namespace, first.queue, first.priority, first.run_at
    FROM names
    CROSS JOIN LATERAL (
        SELECT run.queue, run.priority, run.run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready') AND run.schedule_id IS NOT NULL AND run.attempt >= 0
            AND run.fence = 0 AND run.held = 0
            AND run.namespace = names.namespace
        ORDER BY run.queue, run.priority, run.run_at
        LIMIT 1
    ) AS first
    UNION ALL
    SELECT ticks.namespace, next.queue, next.priority, next.run_at
    FROM ticks
    CROSS JOIN LATERAL (
        SELECT run.queue, run.priority, run.run_at
        FROM fencepost.runs AS run
        WHERE run.state IN ('planned', 'ready') AND run.schedule_id IS NOT NULL AND run.attempt >= 0
            AND run.fence = 0 AND run.held = 0
            AND run.namespace = ticks.namespace AND (run.queue, run.priority) > (ticks.queue, ticks.priority)
        ORDER BY run.queue, run.priority, run.run_at
        LIMIT 1
    ) AS next
), due AS (
    SELECT direct.namespace, direct.run_at AS oldest, many.runs
    FROM moment
    JOIN direct ON direct.run_at <= moment.now
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs
        FROM (
            SELECT 1
            FROM fencepost.runs AS run
            WHERE run.state IN ('planned', 'ready') AND (run.schedule_id IS NULL OR run.fence > 0) AND run.held = 0
                AND run.namespace = direct.namespace AND run.queue = direct.queue
                AND run.priority = direct.priority AND run.run_at <= moment.now
            LIMIT $3
        ) AS bounded
    ) AS many
    UNION ALL
    SELECT ticks.namespace, ticks.run_at AS oldest, many.runs
    FROM moment
    JOIN ticks ON ticks.run_at <= moment.now
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs
        FROM (
            SELECT 1
            FROM fencepost.runs AS run
            WHERE run.state IN ('planned', 'ready') AND run.schedule_id IS NOT NULL AND run.attempt >= 0
                AND run.fence = 0 AND run.held = 0
                AND run.namespace = ticks.namespace AND run.queue = ticks.queue
                AND run.priority = ticks.priority AND run.run_at <= moment.now
            LIMIT $3
        ) AS bounded
    ) AS many
), ready AS (
    SELECT namespace, sum(runs) AS runs, min(oldest) AS oldest FROM due GROUP BY namespace
), running AS (
    SELECT namespace, count(*) AS runs
    FROM fencepost.runs
    WHERE state = 'running' AND namespace = ANY ($5)
    GROUP BY namespace
)
SELECT moment.now,
    (SELECT max(since) FROM fencepost.epochs) AS leases_at,
    ARRAY(
        SELECT ROW(
            run.namespace, run.run_key, run.schedule_id, run.job, run.state, run.origin, run.fire_time, run.run_at,
            run.started_at, run.finished_at, run.attempt, run.fence, run.worker,
            left(split_part(run.error, E'\n', 1), $4::integer), latest.at
        )
        FROM latest
        JOIN fencepost.runs AS run ON run.namespace = latest.namespace AND run.run_key = latest.run_key
        ORDER BY latest.at DESC, latest.namespace, latest.run_key
    ) AS runs,
    ARRAY(
        SELECT ROW(
            names.namespace,
            least(coalesce(ready.runs, 0), $3)::integer,
            least(coalesce(running.runs, 0), $3)::integer,
            (
                SELECT count(*)
                FROM (
                    SELECT 1 FROM fencepost.runs AS run
                    WHERE run.state = 'dead' AND run.namespace = names.namespace
                    LIMIT $3
                ) AS bounded
            )::integer,
            (
                SELECT count(*)
                FROM (
                    SELECT 1 FROM fencepost.runs AS run
                    WHERE run.attempt >= 0 AND run.held <> 0 AND run.namespace = names.namespace
                    LIMIT $3
                ) AS bounded
            )::integer,
            (
                SELECT count(*)
                FROM (
                    SELECT 1 FROM fencepost.gates AS gate
                    WHERE gate.closed_at IS NOT NULL AND gate.namespace = names.namespace
                    LIMIT $3
                ) AS bounded
            )::integer,
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
