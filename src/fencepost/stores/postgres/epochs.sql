-- name: shards
SELECT value FROM fencepost.meta WHERE name = 'shards';

-- name: high_water
SELECT {high_water};
