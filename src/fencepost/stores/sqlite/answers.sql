-- Answers to calls with a key of their own.

-- name: enter
INSERT INTO answers (namespace, principal_id, key, fingerprint, asked_at, held_until)
VALUES (:namespace, :principal_id, :key, :fingerprint, :now, :now)
ON CONFLICT (namespace, principal_id, key) DO NOTHING

-- name: get
SELECT fingerprint, asked_at, held_until > :now AS held, held_until > asked_at AS again, status, body, headers
FROM answers
WHERE namespace = :namespace AND principal_id = :principal_id AND key = :key

-- name: hold
UPDATE answers
SET held_until = :until
WHERE namespace = :namespace AND principal_id = :principal_id AND key = :key AND status IS NULL

-- name: keep
UPDATE answers
SET status = :status, body = :body, headers = :headers
WHERE namespace = :namespace AND principal_id = :principal_id AND key = :key AND status IS NULL

-- name: sweep
DELETE FROM answers
WHERE (namespace, principal_id, key) IN (
    SELECT namespace, principal_id, key FROM answers WHERE asked_at <= :border ORDER BY asked_at LIMIT :limit
)
RETURNING key
