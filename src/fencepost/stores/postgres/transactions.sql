-- The transactions of jobs on the ledger's database.

-- The time for which it may stay idle bounds how long a stalled job keeps its run to itself.
-- What the job writes is acknowledged with its success, so it is durable too.
-- name: bound
SELECT
    set_config('idle_in_transaction_session_timeout', $1, true),
    CASE current_setting('synchronous_commit')
        WHEN 'off' THEN set_config('synchronous_commit', 'on', true)
    END;

-- A call that takes the run away waits for this lock or passes on; one that came before has changed the row.
-- name: lock_run
SELECT pg_current_xact_id()::text AS transaction
FROM fencepost.runs
WHERE {is_under_way}
FOR UPDATE;

-- name: is_same
SELECT pg_current_xact_id()::text = $1;

-- Heartbeats pass a locked row by. A run that goes on after its transaction must not look silent when it ends.
-- name: stay_alive
UPDATE fencepost.runs
SET alive_until = greatest(alive_until, fencepost.now() + make_interval(secs => $3))
WHERE namespace = $1 AND run_key = $2;
