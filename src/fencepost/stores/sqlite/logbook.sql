-- Lines are taken from an attempt that nobody has taken the run from, also when it has ended.
-- name: is_latest
SELECT 1
FROM runs
WHERE namespace = :namespace AND run_key = :run_key AND attempt = :attempt AND fence = :fence

-- name: give_way
DELETE FROM run_logs
WHERE namespace = :namespace AND run_key = :run_key AND attempt = :attempt
  AND number > :kept_through AND number < :kept_from

-- name: append
INSERT INTO run_logs (namespace, run_key, attempt, number, first_line, lines, text, at)
VALUES (:namespace, :run_key, :attempt, :number, :first_line, :lines, :text, :now)
ON CONFLICT (namespace, run_key, attempt, number) DO NOTHING

-- name: read
SELECT attempt, number, first_line, lines, text, at
FROM run_logs
WHERE namespace = :namespace AND run_key = :run_key AND (attempt, number) > (:after_attempt, :after_number)
  AND (:attempt IS NULL OR attempt = :attempt)
ORDER BY attempt, number
LIMIT :limit

-- name: tail
SELECT attempt, number, first_line, lines, text, at
FROM run_logs
WHERE namespace = :namespace AND run_key = :run_key AND (:attempt IS NULL OR attempt = :attempt)
ORDER BY attempt DESC, number DESC
LIMIT :limit
