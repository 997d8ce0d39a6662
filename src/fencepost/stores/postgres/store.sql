-- name: now
SELECT fencepost.now();
