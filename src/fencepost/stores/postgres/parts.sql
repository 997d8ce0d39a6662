-- The store's time, read once for a statement.
-- part: moment
moment AS MATERIALIZED (SELECT fencepost.now() AS now)

-- What the indexes on what is due say of their rows.
-- part: due_direct
run.state IN ('planned', 'ready') AND (run.schedule_id IS NULL OR run.fence > 0) AND run.held = 0

-- part: due_ticks
run.state IN ('planned', 'ready') AND run.schedule_id IS NOT NULL AND run.attempt >= 0 AND run.fence = 0 AND run.held = 0

-- What waits for its turn, for a slot of its job, and in the line of its job, and for nothing else.
-- part: parked
run.held = 8

-- part: limited
run.held = 16

-- part: lined
run.held = 32

-- The different values of the first columns of an index, found by leaping through it from one to the next; as the
-- recursive query `known`.
-- part: leaps(known, columns, runs)
(
    SELECT {columns} FROM fencepost.runs AS run WHERE {{runs}} ORDER BY {columns} LIMIT 1
)
UNION ALL
SELECT next.*
FROM {known}
CROSS JOIN LATERAL (
    SELECT {columns}
    FROM fencepost.runs AS run
    WHERE {{runs}} AND ({columns}) > ROW({known}.*)
    ORDER BY {columns}
    LIMIT 1
) AS next

-- The first column of a key by which rows are looked up. With a plain `=` the server could also walk the table in the
-- order of its keys, and a plan that it made while the table was empty would do so for ever.
-- part: key(value)
ANY (ARRAY[{value}])

-- The version of a run or a cursor.
-- part: is_version_of(row)
version.namespace = {key({row}.namespace)} AND version.schedule_id = {row}.schedule_id AND version.version = {row}.version

-- part: is_open(namespace, queue)
NOT EXISTS (
    SELECT 1
    FROM fencepost.freezes
    WHERE namespace = {namespace} AND (kind = 'all' OR (kind = 'queue' AND value = {queue}))
)

-- A planned run whose time has come is shown as ready.
-- part: shown_state(now)
CASE WHEN run.state = 'planned' AND run.run_at <= {now} THEN 'ready' ELSE run.state END

-- Texts as `columns.py` sends them: as one.
-- part: split(texts)
string_to_array({texts}, E'\x1e')

-- Tickets as `columns.py` sends them.
-- part: tickets
(
    SELECT coalesce(sent.namespace, ($1::text[])[1]) AS namespace, sent.run_key,
        coalesce(sent.attempt, ($3::integer[])[1]) AS attempt, sent.fence, sent.number
    FROM unnest($1::text[], {split($2)}, $3::integer[], $4::bigint[]) WITH ORDINALITY
        AS sent (namespace, run_key, attempt, fence, number)
)

-- part: is_attempt_of(given)
run.namespace = {key({given}.namespace)} AND run.run_key = {given}.run_key
    AND run.attempt = {given}.attempt AND run.fence = {given}.fence

-- As rules write it, whatever the style of dates that a server or a database has.
-- part: as_text(time)
to_char({time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US+00:00')

-- What the index of runs by state says of its rows: of one state, and of all.
-- part: of_state(state)
run.version >= 0 AND run.state = {state}

-- part: of_any_state
run.version >= 0 AND run.state IN (
    'planned', 'ready', 'running', 'succeeded', 'dead', 'skipped', 'missed', 'cancelled', 'withdrawn'
)

-- How many runs a slot of a job has.
-- part: running_in(slot)
(
    SELECT count(*)
    FROM fencepost.runs AS run
    WHERE run.slot IS NOT NULL AND run.state = 'running'
        AND run.namespace = {slot}.namespace AND run.job = {slot}.job AND run.slot = {slot}.slot
)

-- Whether its job has successors. As a value and not as EXISTS it stays a look by key, and no reading of the whole table.
-- part: is_followed
(
    SELECT true
    FROM fencepost.successors AS next
    WHERE next.namespace = {key(run.namespace)} AND next.predecessor = run.job
    LIMIT 1
) IS NOT NULL

-- The attempt of a ticket, while it runs.
-- part: is_under_way
namespace = $1 AND run_key = $2 AND attempt = $3 AND fence = $4 AND alive_until IS NOT NULL
