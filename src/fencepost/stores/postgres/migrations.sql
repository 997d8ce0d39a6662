-- name: bounds
SELECT set_config('lock_timeout', $1, true);

-- The number is ours alone among the locks of the database.
-- name: take_turn
SELECT pg_try_advisory_lock(7234586108221406817);

-- A session that has ended cannot answer, and has no lock.
-- name: has_turn
SELECT 1;

-- name: is_set_up
SELECT to_regclass('fencepost.meta') IS NOT NULL;

-- name: schema
SELECT value FROM fencepost.meta WHERE name = 'schema';

-- name: record
INSERT INTO fencepost.meta (name, value)
VALUES ('schema', $1)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: record_shards
INSERT INTO fencepost.meta (name, value) VALUES ('shards', $1) ON CONFLICT (name) DO NOTHING;

-- name: progress
SELECT progress.phase,
    CASE WHEN progress.blocks_total > 0 THEN progress.blocks_done ELSE progress.tuples_done END AS done,
    CASE WHEN progress.blocks_total > 0 THEN progress.blocks_total ELSE progress.tuples_total END AS total
FROM pg_stat_progress_create_index AS progress
JOIN pg_class AS index ON index.oid = progress.index_relid
JOIN pg_namespace AS schema ON schema.oid = index.relnamespace
WHERE progress.datname = current_database() AND schema.nspname = 'fencepost' AND index.relname = $1;

-- name: is_invalid
SELECT NOT state.indisvalid
FROM pg_index AS state
JOIN pg_class AS index ON index.oid = state.indexrelid
JOIN pg_namespace AS schema ON schema.oid = index.relnamespace
WHERE schema.nspname = 'fencepost' AND index.relname = $1;

-- name: drop_index
DROP INDEX CONCURRENTLY IF EXISTS fencepost.INDEX_NAME;
