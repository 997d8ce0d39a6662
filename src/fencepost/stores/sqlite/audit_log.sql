-- The audit log.

-- name: write
INSERT INTO audit_log (namespace, at, author, source, reason, credential, action, subject, before, after)
VALUES (:namespace, :at, :author, :source, :reason, :credential, :action, :subject, :before, :after)

-- name: list
SELECT number, namespace, at, author, source, reason, credential, action, subject, before, after
FROM audit_log INDEXED BY audit_log_by_number
WHERE namespace = :namespace AND number < :before_number
  AND (:action IS NULL OR action = :action)
  AND (:author IS NULL OR author = :author OR credential = :author)
  AND at >= :since AND at < :until
ORDER BY number DESC
LIMIT :limit

-- name: list_of_subject
SELECT number, namespace, at, author, source, reason, credential, action, subject, before, after
FROM audit_log INDEXED BY audit_log_by_subject
WHERE namespace = :namespace AND subject = :subject AND number < :before_number
  AND (:action IS NULL OR action = :action)
  AND (:author IS NULL OR author = :author OR credential = :author)
  AND at >= :since AND at < :until
ORDER BY number DESC
LIMIT :limit
