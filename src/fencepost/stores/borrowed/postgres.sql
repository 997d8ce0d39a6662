-- What is said to PostgreSQL only in a caller's own transaction.

-- name: begin
SAVEPOINT fencepost;

-- name: end
RELEASE SAVEPOINT fencepost;

-- name: undo
ROLLBACK TO SAVEPOINT fencepost;

-- A caller that stalls with the run's row locked must not keep it for ever. A bound of the caller's own stays.
-- name: bound
SELECT set_config('idle_in_transaction_session_timeout', $1, true)
WHERE current_setting('idle_in_transaction_session_timeout') IN ('0', '0ms');

-- An attempt that has lost its run must not commit, also where its code swallows the error.
-- name: refuse
DO $$ BEGIN
    RAISE EXCEPTION 'fencepost: the run belongs to a later attempt, or has ended' USING ERRCODE = 'FP001';
END $$;
