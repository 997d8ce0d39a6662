-- name: shards
SELECT value FROM fencepost.meta WHERE name = 'shards';

-- name: high_water
SELECT
    (SELECT value FROM fencepost.meta WHERE name = 'incarnation') AS incarnation,
    (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM fencepost.fences) AS fence,
    (SELECT coalesce(sum(epoch), 0)::bigint FROM fencepost.epochs) AS epochs,
    (SELECT value FROM fencepost.meta WHERE name = 'older') AS older;
