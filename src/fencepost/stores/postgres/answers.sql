-- Answers to calls with a key of their own.

-- One that is there already is locked and read.
-- name: enter
INSERT INTO fencepost.answers AS known (namespace, principal_id, key, fingerprint, asked_at, held_until)
SELECT $1, $2, $3, $4, moment.now, moment.now
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (namespace, principal_id, key) DO UPDATE SET fingerprint = known.fingerprint
RETURNING fingerprint, asked_at, held_until > fencepost.now() AS held, held_until > asked_at AS again, status, body, headers;

-- name: hold
UPDATE fencepost.answers
SET held_until = fencepost.now() + $4::float8 * interval '1 second'
WHERE namespace = $1 AND principal_id = $2 AND key = $3 AND status IS NULL;

-- name: keep
UPDATE fencepost.answers
SET status = $4, body = $5, headers = $6
WHERE namespace = $1 AND principal_id = $2 AND key = $3 AND status IS NULL;

-- name: sweep
WITH old AS MATERIALIZED (
    SELECT namespace, principal_id, key
    FROM fencepost.answers
    WHERE asked_at <= fencepost.now() - $1::float8 * interval '1 second'
    ORDER BY asked_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM fencepost.answers AS gone
USING old
WHERE gone.namespace = old.namespace AND gone.principal_id = old.principal_id AND gone.key = old.key
RETURNING gone.key;
