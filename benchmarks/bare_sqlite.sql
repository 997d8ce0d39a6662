-- Bare loops on SQLite: on a lean table of their own and on ours.

-- name: lean_install
CREATE TABLE lean (id INTEGER PRIMARY KEY, payload TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL);
CREATE INDEX lean_due ON lean (due) WHERE state = 0;

-- name: lean_insert
INSERT INTO lean (due, payload) VALUES (?1, ?2)

-- name: lean_claim
UPDATE lean SET state = 1
WHERE id IN (SELECT id FROM lean WHERE state = 0 AND due <= ?1 ORDER BY due LIMIT ?2)
RETURNING id, 0, payload

-- name: lean_finish
UPDATE lean SET state = 2 WHERE id = ?2 AND ?1 > ?3

-- name: runs_insert
INSERT INTO runs (namespace, run_key, job, fire_time, state, queue, priority, run_at, payload)
VALUES ('default', 'noop#' || hex(randomblob(16)), 'noop', ?1, 'ready', 'default', 2, ?1, ?2)

-- name: runs_claim
UPDATE runs
SET state = 'running', attempt = attempt + 1, fence = rowid, worker = 'bare', started_at = ?1, alive_until = ?1
WHERE rowid IN (
    SELECT rowid FROM runs
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0
      AND namespace = 'default' AND queue = 'default' AND priority = 2 AND run_at <= ?1
    ORDER BY run_at LIMIT ?2
)
RETURNING run_key, fence, payload

-- name: runs_finish
UPDATE runs SET state = 'succeeded', finished_at = ?1
WHERE namespace = 'default' AND run_key = ?2 AND fence = ?3
