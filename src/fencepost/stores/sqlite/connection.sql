-- What the writer thread itself says to SQLite.

-- name: settings
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -16384;

-- name: first_read
SELECT count(*) FROM sqlite_schema

-- name: begin_write
BEGIN IMMEDIATE

-- name: begin_read
BEGIN DEFERRED

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: open_hop
SAVEPOINT hop

-- name: close_hop
RELEASE hop

-- name: undo_hop
ROLLBACK TO hop

-- name: take_fences
UPDATE sequences SET value = value + :count WHERE name = 'fences' RETURNING value

-- name: last_fence
SELECT value FROM sequences WHERE name = 'fences'
