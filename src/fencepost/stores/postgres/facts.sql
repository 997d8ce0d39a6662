-- part: of(row)
{row}.namespace = given.namespace AND {row}.schedule_id = given.schedule_id

-- part: live
run.origin IN ('live', 'manual')

-- Not by the condition of `runs_behind`: the server would walk all that is parked there. Few are found by their
-- priority, which nothing else has.
-- part: behind
run.origin || '' NOT IN ('live', 'manual') AND run.priority = 5

-- part: newest(origins, after)
(
    SELECT run.fire_time
    FROM fencepost.runs AS run
    WHERE {of(run)}
        AND run.state IN ('planned', 'ready') AND run.fence = 0 AND run.origin {origins}
        AND run.run_at <= moment.now AND run.held & 1 = 0 AND run.fire_time > {after}
    ORDER BY run.fire_time DESC
    LIMIT 1
)

-- part: due(kind, held, most)
(
    SELECT run.run_key, run.fire_time, run.version, run.run_at, run.origin, run.held,
        run.backfill_id, run.job, run.reason
    FROM fencepost.runs AS run
    WHERE {of(run)}
        AND run.state IN ('planned', 'ready') AND run.fence = 0 AND {{kind}}
        AND run.held {held}
        AND run.run_at <= moment.now
        AND (
            $3::text[] IS NULL
            OR (
                run.queue = ANY ($3::text[])
                AND run.queue <> ALL (paused.queues)
                AND run.job = ANY ($4::text[])
            )
        )
    ORDER BY run.fire_time
    LIMIT {most}
)

-- Asked in a statement of its own, whose snapshot is younger than the locks. Without queues ($3 is
-- null) every due tick counts, else those of the queues that are not paused. The schedules are judged in the order
-- in which they were taken.
--
-- Of what is behind live work the first that do not wait are looked at apart from those that do: else a long
-- queue, whose head is parked (8) or limited (16, 32), would hide from the judge the very ticks that make its schedule due. Of those
-- that are parked only the first are looked at ($8). Each version's spec comes once. A cursor that was
-- never planned does not know when its version fires (`next_fire_at` is where it begins), and what was called off or is
-- held by name is not unplanned.
--
-- A server that knows nothing of a table yet takes one row for as good as a thousand, and would sort them. So what is
-- wanted in two orders is cut in the order of its index, ties included, and sorted after that. The newest
-- live tick is looked for among those that are newer than what is behind: what was admitted leaves dead entries.
-- name: facts
WITH {moment}
SELECT moment.now, given.namespace, given.schedule_id, due.ticks AS due, due.limited,
    ARRAY(
        SELECT ROW(version.version, version.spec)
        FROM fencepost.schedule_versions AS version
        WHERE {of(version)}
            AND version.version = ANY (due.versions)
    ) AS specs,
    coalesce({newest(IN ('live', 'manual'); coalesce(behind.newest, '-infinity'))}, behind.newest) AS newest_due,
    ARRAY(
        SELECT ROW(
            newest.next_fire_at,
            (
                SELECT version.spec
                FROM fencepost.schedule_versions AS version
                WHERE {of(version)}
                    AND version.version = newest.version
            )
        )
        FROM (
            SELECT cursor.version, cursor.planned_through, cursor.next_fire_at, cursor.until
            FROM fencepost.cursors AS cursor
            WHERE {of(cursor)}
            ORDER BY cursor.version DESC
            LIMIT $7
        ) AS newest
        WHERE newest.planned_through < newest.next_fire_at
            AND newest.next_fire_at <= moment.now
            AND (newest.until IS NULL OR newest.next_fire_at <= newest.until)
            AND NOT EXISTS (
                SELECT 1
                FROM fencepost.runs AS run
                WHERE {of(run)}
                    AND run.epoch >= 0
                    AND run.fire_time = newest.next_fire_at
                    AND (run.version = newest.version OR run.state <> 'withdrawn')
                OFFSET 0
            )
        ORDER BY newest.next_fire_at DESC
    ) AS unplanned,
    ARRAY(
        SELECT ROW(
            run.run_key, run.fire_time, run.finished_at, run.origin, run.cancel_requested, run.first_started_at
        )
        FROM fencepost.runs AS run
        WHERE {of(run)}
            AND run.fence > 0
            AND run.state IN ('ready', 'running')
        ORDER BY run.fire_time, run.run_key
    ) AS unfinished,
    ARRAY(
        SELECT ROW(
            last.run_key, last.fire_time, last.finished_at, last.origin, last.cancel_requested, last.first_started_at
        )
        FROM (
            SELECT run.*
            FROM fencepost.runs AS run
            WHERE {of(run)}
                AND run.fence > 0
                AND run.finished_at IS NOT NULL
                AND run.finished_at > due.run_at
            ORDER BY run.finished_at DESC
            FETCH FIRST $6 ROWS WITH TIES
        ) AS last
        ORDER BY last.finished_at DESC, last.run_key DESC
        LIMIT $6
    ) AS finished,
    (
        SELECT max(past.fire_time)
        FROM fencepost.runs AS past
        WHERE {of(past)}
            AND past.state = 'succeeded'
    ) AS previous,
    gate.closed_at IS NOT NULL AS gate_closed
FROM moment
CROSS JOIN unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (namespace, schedule_id, number)
CROSS JOIN LATERAL (
    SELECT ARRAY(
        SELECT value FROM fencepost.freezes WHERE namespace = given.namespace AND kind = 'queue'
    ) AS queues
    OFFSET 0
) AS paused
CROSS JOIN LATERAL (
    SELECT array_agg(
            ROW(
                tick.run_key, tick.fire_time, tick.run_at, tick.origin, tick.held, backfill.at_once_max,
                tick.version, tick.reason IS NULL
            )
            ORDER BY tick.origin NOT IN ('live', 'manual'), tick.fire_time, tick.run_key
        ) AS ticks,
        array_agg(DISTINCT tick.version) AS versions,
        bool_or(tick.job IN (SELECT job FROM fencepost.limits WHERE namespace = given.namespace)) AS limited,
        min(tick.run_at) FILTER (WHERE tick.origin IN ('live', 'manual')) AS run_at
    FROM (
        {due(live; IN (0, 8, 16, 32); $5)}
        UNION ALL
        {due(behind; = 0; $5)}
        UNION ALL
        {due(behind; = 8; $8)}
        UNION ALL
        {due(behind; IN (16, 32); $5)}
    ) AS tick
    LEFT JOIN fencepost.backfills AS backfill ON backfill.backfill_id = tick.backfill_id
) AS due
CROSS JOIN LATERAL (
    SELECT {newest(IN ('catch_up', 'backfill', 'replay'); '-infinity')} AS newest
    OFFSET 0
) AS behind
LEFT JOIN fencepost.gates AS gate
    ON {of(gate)}
WHERE due.ticks IS NOT NULL
ORDER BY given.number;

-- How catch-up fares: how many of its ticks wait that came after the gate was last opened ($3 is as far as they are
-- counted), and whether the last that ended since then failed ($4 of them).
-- name: gates
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM fencepost.runs AS run
            WHERE {of(run)}
                AND run.state IN ('planned', 'ready')
                AND run.fence = 0
                AND run.origin IN ('catch_up', 'backfill', 'replay')
                AND run.origin = 'catch_up'
                AND run.held & 4 = 0
                AND run.fire_time > coalesce(gate.let_through, '-infinity')
            ORDER BY run.fire_time
            LIMIT given.count_max
        ) AS waiting
    ) AS waiting,
    ARRAY(
        SELECT last.failed
        FROM (
            SELECT run.state = 'dead' AS failed, run.finished_at, run.run_key
            FROM fencepost.runs AS run
            WHERE {of(run)}
                AND run.origin = 'catch_up'
                AND run.fence > 0
                AND run.finished_at IS NOT NULL
                AND run.finished_at > coalesce(gate.opened_at, '-infinity')
            ORDER BY run.finished_at DESC
            FETCH FIRST given.of_last ROWS WITH TIES
        ) AS last
        ORDER BY last.finished_at DESC, last.run_key DESC
        LIMIT given.of_last
    ) AS failed
FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[]) WITH ORDINALITY
    AS given (namespace, schedule_id, count_max, of_last, number)
LEFT JOIN fencepost.gates AS gate
    ON {of(gate)}
ORDER BY given.number;
