-- What no index knows is looked for by the server: the log is long, and what is rare in it lies far behind.
-- name: list
SELECT number, namespace, at, author, source, reason, credential, action, subject, before, after
FROM fencepost.audit_log
WHERE namespace = $1
    AND ($2::text IS NULL OR action = $2)
    AND ($3::text IS NULL OR author = $3 OR credential = $3)
    AND ($4::timestamptz IS NULL OR at >= $4)
    AND ($5::timestamptz IS NULL OR at < $5)
    AND number < coalesce($6::bigint, 9223372036854775807)
ORDER BY number DESC
LIMIT $7;
