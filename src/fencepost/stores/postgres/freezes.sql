-- Whoever freezes or thaws, and whoever writes what a schedule's labels are, take turns: else a schedule that
-- gets a label and a freeze of that label could miss each other. Writers of schedules share the turn.
-- name: take_turn
SELECT pg_advisory_xact_lock(hashtextextended('fencepost.freezes ' || $1::text, 0));

-- name: share_turn
SELECT pg_advisory_xact_lock_shared(hashtextextended('fencepost.freezes ' || $1::text, 0));

-- name: freeze
INSERT INTO fencepost.freezes (namespace, kind, value, since, author, source, reason)
VALUES ($1, $2, $3, fencepost.now(), $4, $5, $6)
ON CONFLICT (namespace, kind, value) DO NOTHING
RETURNING kind;

-- name: thaw
DELETE FROM fencepost.freezes WHERE namespace = $1 AND kind = $2 AND value = $3 RETURNING kind;

-- name: all
SELECT namespace, kind, value, since, author, source, reason
FROM fencepost.freezes
WHERE namespace = $1
ORDER BY kind, value;

-- Schedules in the order of their ids, then their cursors: a plan in flight has either been written, and is
-- seen by what follows, or will find its cursor marked.
-- name: lock_schedule
SELECT schedule_id
FROM fencepost.schedules
WHERE namespace = $1 AND schedule_id = $2
FOR UPDATE;

-- name: lock_labelled
SELECT schedule_id
FROM fencepost.schedules
WHERE namespace = $1 AND labels @> jsonb_build_object($2::text, $3::text)
ORDER BY schedule_id
FOR UPDATE;

-- name: lock_cursors
SELECT schedule_id
FROM fencepost.cursors
WHERE namespace = $1 AND schedule_id = ANY ($2::text[])
ORDER BY schedule_id, version
FOR UPDATE;

-- Freezes are few. A label is `key=value`, and no key has the sign in it.
-- name: mark_schedules
UPDATE fencepost.schedules AS schedule
SET frozen = NOT schedule.frozen
WHERE schedule.namespace = $1
    AND schedule.schedule_id = ANY ($2::text[])
    AND schedule.frozen <> EXISTS (
        SELECT 1
        FROM fencepost.freezes AS known
        WHERE known.namespace = $1
            AND (
                known.kind = 'schedule' AND known.value = schedule.schedule_id
                OR known.kind = 'label'
                    AND schedule.labels ->> split_part(known.value, '=', 1)
                        = substr(known.value, strpos(known.value, '=') + 1)
            )
    )
RETURNING schedule.schedule_id, schedule.frozen;

-- name: mark_cursors
UPDATE fencepost.cursors
SET frozen = $3
WHERE namespace = $1 AND schedule_id = ANY ($2::text[]);

-- name: running
SELECT run_key
FROM fencepost.runs
WHERE namespace = $1
    AND schedule_id = ANY ($2::text[])
    AND schedule_id IS NOT NULL
    AND fence > 0
    AND state = 'running';

-- Every run that has not ended, found by the indexes that hold only such, and taken in the order of the keys;
-- of those that are running only the ones ($4) that are locked already.
-- name: mark_runs
WITH open AS (
    SELECT each.run_key
    FROM unnest($2::text[]) AS given (schedule_id)
    CROSS JOIN LATERAL (
        SELECT run_key
        FROM fencepost.runs AS run
        WHERE run.namespace = $1
            AND run.schedule_id = given.schedule_id
            AND run.state IN ('planned', 'ready')
            AND run.fence = 0
            AND run.origin IN ('live', 'manual')
        UNION ALL
        SELECT run_key
        FROM fencepost.runs AS run
        WHERE run.namespace = $1
            AND run.schedule_id = given.schedule_id
            AND run.state IN ('planned', 'ready')
            AND run.fence = 0
            AND run.origin IN ('catch_up', 'backfill', 'replay')
        UNION ALL
        SELECT run_key
        FROM fencepost.runs AS run
        WHERE run.namespace = $1
            AND run.schedule_id = given.schedule_id
            AND run.state IN ('ready', 'running')
            AND run.fence > 0
            AND (run.state = 'ready' OR run.run_key = ANY ($4::text[]))
    ) AS each
), locked AS MATERIALIZED (
    SELECT run.run_key
    FROM open
    JOIN fencepost.runs AS run ON run.namespace = $1 AND run.run_key = open.run_key
    WHERE run.finished_at IS NULL
    ORDER BY run.run_key
    FOR UPDATE OF run
)
UPDATE fencepost.runs AS run
SET held = CASE WHEN $3::boolean THEN run.held | 2 ELSE run.held & ~2 END
FROM locked
WHERE run.namespace = $1 AND run.run_key = locked.run_key AND run.finished_at IS NULL;

-- What a freeze or a thaw had to leave because its job had it locked. Both rows are read again under their
-- locks; whose schedule is locked is being settled by somebody else.
-- name: mark_left
WITH found AS MATERIALIZED (
    SELECT run.namespace, run.run_key
    FROM fencepost.runs AS run
    WHERE run.schedule_id IS NOT NULL
        AND run.fence > 0
        AND run.state IN ('ready', 'running')
        AND (run.held & 2 <> 0) <> (
            SELECT schedule.frozen
            FROM fencepost.schedules AS schedule
            WHERE schedule.namespace = run.namespace AND schedule.schedule_id = run.schedule_id
        )
    LIMIT $1
), left_over AS MATERIALIZED (
    SELECT run.namespace, run.run_key
    FROM found
    JOIN fencepost.runs AS run ON run.namespace = found.namespace AND run.run_key = found.run_key
    JOIN fencepost.schedules AS schedule
        ON schedule.namespace = run.namespace AND schedule.schedule_id = run.schedule_id
    WHERE run.finished_at IS NULL AND schedule.frozen <> (run.held & 2 <> 0)
    FOR UPDATE OF run SKIP LOCKED
    FOR SHARE OF schedule SKIP LOCKED
)
UPDATE fencepost.runs AS run
SET held = run.held # 2
FROM left_over
WHERE run.namespace = left_over.namespace AND run.run_key = left_over.run_key
RETURNING run.run_key;
