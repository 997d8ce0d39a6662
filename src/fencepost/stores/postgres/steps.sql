-- The run's row is locked, so that no call can take the run from the attempt before this is committed; a comparison
-- without the lock would let in a write that a rescue has overtaken.
-- name: record
WITH owned AS MATERIALIZED (
    SELECT namespace, run_key, attempt
    FROM fencepost.runs
    WHERE {is_under_way}
    FOR SHARE
), written AS (
    INSERT INTO fencepost.steps (namespace, run_key, name, result, attempt, recorded_at)
    SELECT namespace, run_key, $5, $6, attempt, fencepost.now() FROM owned
    ON CONFLICT (namespace, run_key, name) DO NOTHING
    RETURNING result
)
SELECT EXISTS (SELECT 1 FROM owned) AS owned, (SELECT result FROM written) AS result;
