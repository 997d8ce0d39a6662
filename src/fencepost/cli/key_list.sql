-- The keys of a list that another system has made, in a file of their own for as long as a command runs.
-- name: create
CREATE TABLE keys (
    run_key TEXT PRIMARY KEY,
    line INTEGER NOT NULL,
    line_again INTEGER,
    times INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;

-- name: add
INSERT INTO keys (run_key, line) VALUES (?, ?)
ON CONFLICT (run_key) DO UPDATE SET times = times + 1, line_again = coalesce(line_again, excluded.line);

-- name: after
SELECT run_key, line, line_again, times FROM keys WHERE run_key > ? ORDER BY run_key LIMIT ?;

-- name: among
SELECT run_key FROM keys WHERE run_key IN (SELECT value FROM json_each(?));

-- name: count
SELECT count(*) FROM keys;
