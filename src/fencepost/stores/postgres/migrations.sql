-- name: bounds
SELECT set_config('lock_timeout', $1, true);

-- The number is ours alone among the locks of the database.
-- name: lock
SELECT pg_advisory_xact_lock(7234586108221406817);

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
