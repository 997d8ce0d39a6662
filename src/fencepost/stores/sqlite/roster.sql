-- The fleet.

-- name: beat
INSERT INTO nodes (node_id, about, started_at, alive_until, skew_s, report, reported_at)
VALUES (:node_id, :about, :now, :alive_until, :skew_s, :report, :now)
ON CONFLICT (node_id) DO UPDATE
SET about = excluded.about, alive_until = excluded.alive_until, skew_s = excluded.skew_s,
    report = excluded.report, reported_at = excluded.reported_at

-- name: leave
DELETE FROM nodes WHERE node_id = :node_id

-- name: live
SELECT about, started_at, (alive_until - :now) / 1e6 AS alive_for_s, report, reported_at, draining
FROM nodes
WHERE alive_until > :now AND coalesce(reported_at, 0) <= :latest
ORDER BY node_id

-- name: from_future
SELECT about, started_at, (alive_until - :now) / 1e6 AS alive_for_s, report, reported_at, draining
FROM nodes
WHERE reported_at > :latest
ORDER BY node_id

-- name: is_draining
SELECT draining FROM nodes WHERE node_id = :node_id AND alive_until > :now AND coalesce(reported_at, 0) <= :latest

-- name: drain
UPDATE nodes SET draining = :draining WHERE node_id = :node_id

-- name: end_from_future
UPDATE nodes SET reported_at = :now, alive_until = :now WHERE reported_at > :latest

-- name: sweep
DELETE FROM nodes WHERE alive_until < :cutoff
