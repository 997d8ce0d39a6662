-- What people read. A planned run whose time has come is shown as ready.

-- part: shown
SELECT run.namespace, run.run_key, run.schedule_id, run.job, run.fire_time, run.version,
    {shown_state((SELECT fencepost.now()))} AS state,
    run.reason, run.attempt, run.fence, run.epoch, run.run_at, run.started_at, run.finished_at,
    run.worker, run.error, run.queue, run.priority, run.payload, run.progress, run.cancel_requested,
    run.origin, run.held, run.blocked_by, run.first_started_at, run.attempts_before_replay, run.backfill_id,
    run.alive_until, run.note, run.progress_at, run.expires_at, run.due_at, run.created_at, version.spec
FROM fencepost.runs AS run
LEFT JOIN fencepost.schedule_versions AS version ON {is_version_of(run)}

-- name: get
{shown}
WHERE run.namespace = $1 AND run.run_key = $2;

-- A list is found first and shown then. It begins with the runs that one index has, in the order of that index, which
-- no server has a reason to sort; those of one fire time come together, and are put in order at the end. What no index
-- knows is looked for among the newest ($12 of them) and no further; where that was not enough for a full page, the
-- answer says how far it went, in one row without a run if need be.
-- part: newest(runs, condition)
SELECT run.*
FROM {runs} AS run
WHERE {condition}
    AND run.namespace = $1
    AND run.fire_time >= coalesce($3::timestamptz, '-infinity')
    AND run.fire_time < coalesce($4::timestamptz, 'infinity')
    AND run.fire_time <= coalesce($13::timestamptz, 'infinity')
ORDER BY run.fire_time DESC
FETCH FIRST ($12::bigint) ROWS WITH TIES

-- part: walked(runs, condition)
walked AS NOT MATERIALIZED (
{newest({runs}; {condition})}
), fitting AS (
    SELECT run.namespace, run.run_key, run.fire_time
    FROM walked AS run
    WHERE ($2::text IS NULL OR run.job = $2)
        AND ($5::text IS NULL OR $5 = {shown_state((SELECT fencepost.now()))})
        AND ($6::text IS NULL OR run.origin = $6)
        AND ($7::text IS NULL OR strpos(run.error, $7) > 0)
        AND ($8::bigint IS NULL OR run.backfill_id = $8)
        AND ($9::boolean IS NULL OR (run.held <> 0) = $9)
        AND ($10::text IS NULL OR run.schedule_id = $10)
        AND (run.fire_time, run.run_key) < (coalesce($13, 'infinity'), coalesce($14::text, ''))
        AND ($15::text IS NULL OR strpos(run.run_key, $15) > 0)
        AND ($16::text IS NULL OR run.worker = $16)
        AND ($17::text IS NULL OR run.queue = $17)
        AND ($18::text[] IS NULL OR {shown_state((SELECT fencepost.now()))} = ANY ($18))
    ORDER BY run.fire_time DESC
    FETCH FIRST ($11::bigint) ROWS WITH TIES
), found AS MATERIALIZED (
    SELECT namespace, run_key FROM fitting ORDER BY fire_time DESC, run_key DESC LIMIT $11
), listed AS (
{shown}
JOIN found ON run.namespace = {key(found.namespace)} AND run.run_key = found.run_key
ORDER BY run.fire_time DESC, run.run_key DESC
LIMIT $11
)
SELECT bound.searched_to, listed.*
FROM (
    SELECT CASE WHEN (SELECT count(*) FROM found) < $11 THEN (
        SELECT CASE WHEN count(*) >= $12 THEN min(run.fire_time) END FROM walked AS run
    ) END AS searched_to
) AS bound
LEFT JOIN listed ON true
ORDER BY listed.fire_time DESC, listed.run_key DESC;

-- part: of_each(state)
({newest(fencepost.runs; run.version >= 0 AND run.state = '{state}')})

-- The server merges the states as it walks them: of each it reads what the page needs.
-- name: all
WITH every AS (
    {of_each(planned)} UNION ALL {of_each(ready)} UNION ALL {of_each(running)}
    UNION ALL {of_each(succeeded)} UNION ALL {of_each(dead)} UNION ALL {of_each(skipped)}
    UNION ALL {of_each(missed)} UNION ALL {of_each(cancelled)} UNION ALL {of_each(withdrawn)}
), {walked(every; true)}

-- name: of_state
WITH {walked(fencepost.runs; run.version >= 0 AND run.state = $5)}

-- name: of_schedule
WITH {walked(fencepost.runs; run.epoch >= 0 AND run.schedule_id = $10)}

-- name: of_backfill
WITH {walked(fencepost.runs; run.backfill_id = $8)}

-- name: held
WITH {walked(fencepost.runs; run.attempt >= 0 AND run.held <> 0)}

-- What has not ended is in one of four small indexes, or, where its schedule was frozen while it ran, in two.
-- name: unended
WITH unended AS (
    SELECT * FROM fencepost.runs AS run WHERE {of_state('running')} AND namespace = $1
    UNION ALL
    SELECT * FROM fencepost.runs WHERE attempt >= 0 AND held <> 0 AND state <> 'running' AND namespace = $1
    UNION ALL
    SELECT * FROM fencepost.runs AS run WHERE {due_direct} AND namespace = $1
    UNION ALL
    SELECT * FROM fencepost.runs AS run WHERE {due_ticks} AND namespace = $1
), {walked(unended; true)}

-- part: age_s(kind)
extract(epoch FROM (SELECT now FROM moment) - min(each.run_at) FILTER (WHERE each.kind = '{kind}'))::double precision

-- name: queues
WITH {moment}, each AS (
    SELECT queue, run_at, 'ready' AS kind FROM fencepost.runs AS run
    WHERE {due_direct} AND namespace = $1 AND run_at <= (SELECT now FROM moment)
    UNION ALL
    SELECT queue, run_at, 'ready' AS kind FROM fencepost.runs AS run
    WHERE {due_ticks} AND namespace = $1 AND run_at <= (SELECT now FROM moment)
    UNION ALL
    SELECT queue, run_at, 'waiting' AS kind FROM fencepost.runs WHERE namespace = $1 AND held = 16
    UNION ALL
    SELECT queue, run_at, 'waiting' AS kind FROM fencepost.runs WHERE namespace = $1 AND held = 32
    UNION ALL
    SELECT queue, run_at, 'running' AS kind FROM fencepost.runs AS run
    WHERE {of_state('running')} AND namespace = $1
)
SELECT each.queue,
    count(*) FILTER (WHERE each.kind = 'ready') AS ready,
    count(*) FILTER (WHERE each.kind = 'waiting') AS waiting,
    count(*) FILTER (WHERE each.kind = 'running') AS running,
    {age_s(ready)} AS oldest_ready_s,
    {age_s(waiting)} AS oldest_waiting_s
FROM each
GROUP BY each.queue
ORDER BY each.queue;
