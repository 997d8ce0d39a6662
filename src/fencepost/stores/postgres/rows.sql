-- What a transaction on rows asks besides the rows themselves.

-- name: now
SELECT fencepost.now();

-- name: last_fence
SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS fence FROM fencepost.fences;

-- name: fences
SELECT nextval('fencepost.fences') AS fence FROM generate_series(1, $1::bigint);

-- name: lift_fences
SELECT setval('fencepost.fences', last_value + $1::bigint) FROM fencepost.fences;

-- name: count_on
SELECT setval(counted.name, greatest($3::bigint, coalesce(pg_sequence_last_value(counted.name), 1)))
FROM (SELECT pg_get_serial_sequence($1::text, $2::text)::regclass AS name) AS counted;

-- name: take_turn
SELECT pg_advisory_xact_lock(hashtextextended('fencepost.' || $1::text, 0));

-- name: share_turn
SELECT pg_advisory_xact_lock_shared(hashtextextended('fencepost.' || $1::text, 0));

-- name: tell
SELECT pg_notify($1, '');
