-- name: recorded
SELECT name, result FROM steps WHERE namespace = :namespace AND run_key = :run_key ORDER BY rowid

-- name: record
INSERT INTO steps (namespace, run_key, name, result, attempt, recorded_at)
VALUES (:namespace, :run_key, :name, :result, :attempt, :now)
ON CONFLICT (namespace, run_key, name) DO NOTHING

-- name: standing
SELECT result FROM steps WHERE namespace = :namespace AND run_key = :run_key AND name = :name
