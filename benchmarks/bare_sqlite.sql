-- The same rows by hand on SQLite.

-- name: claim
UPDATE runs
SET state = 'running', attempt = attempt + 1, fence = rowid, worker = 'bare', started_at = ?1, alive_until = ?1
WHERE rowid IN (
    SELECT rowid FROM runs
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0)
      AND namespace = 'default' AND queue = 'default' AND priority = 2 AND run_at <= ?1
    ORDER BY run_at LIMIT ?2
)
RETURNING run_key, attempt, fence, payload

-- name: complete
UPDATE runs SET state = 'succeeded', finished_at = ?1
WHERE namespace = 'default' AND run_key = ?2 AND fence = ?3
