-- name: log
INSERT INTO fencepost.audit_log (namespace, at, author, source, reason, credential, action, subject, before, after)
SELECT $1, moment.now, $2, $3, $4, $9, $5, given.subject, given.before, given.after
FROM unnest($6::text[], $7::text[], $8::text[]) WITH ORDINALITY
    AS given (subject, before, after, number)
CROSS JOIN (SELECT fencepost.now() AS now) AS moment
ORDER BY given.number;

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

-- name: list_of_subject
SELECT number, namespace, at, author, source, reason, credential, action, subject, before, after
FROM fencepost.audit_log
WHERE namespace = $1
    AND subject = $8
    AND ($2::text IS NULL OR action = $2)
    AND ($3::text IS NULL OR author = $3 OR credential = $3)
    AND ($4::timestamptz IS NULL OR at >= $4)
    AND ($5::timestamptz IS NULL OR at < $5)
    AND number < coalesce($6::bigint, 9223372036854775807)
ORDER BY number DESC
LIMIT $7;
