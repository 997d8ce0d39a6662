-- The fleet.

-- name: beat
INSERT INTO nodes (node_id, about, started_at, alive_until, skew_s)
VALUES (:node_id, :about, :now, :alive_until, :skew_s)
ON CONFLICT (node_id) DO UPDATE
SET about = excluded.about, alive_until = excluded.alive_until, skew_s = excluded.skew_s

-- name: leave
DELETE FROM nodes WHERE node_id = :node_id

-- name: live
SELECT about, started_at, (alive_until - :now) / 1e6 AS alive_for_s, skew_s
FROM nodes
WHERE alive_until > :now
ORDER BY node_id

-- name: sweep
DELETE FROM nodes WHERE alive_until < :cutoff
