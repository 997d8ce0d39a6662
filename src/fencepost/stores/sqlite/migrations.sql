-- What the migration runner asks.

-- name: tables
SELECT count(*) FROM sqlite_schema

-- Asked of the file itself: what the connection remembers of the schema may be older than the lock.
-- name: has_meta
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'

-- name: schema
SELECT value FROM meta WHERE name = 'schema'

-- name: set_meta
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
