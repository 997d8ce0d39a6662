-- name: beat
WITH beaten AS (
    INSERT INTO fencepost.nodes AS node (node_id, about, started_at, alive_until, skew_s)
    VALUES ($1, $2, fencepost.now(), fencepost.now() + make_interval(secs => $4), $3)
    ON CONFLICT (node_id) DO UPDATE
    SET about = excluded.about,
        alive_until = fencepost.now() + make_interval(secs => $4),
        skew_s = excluded.skew_s
    RETURNING node_id, about, started_at, alive_until, skew_s
), alive AS (
    SELECT node_id, about, started_at, alive_until, skew_s FROM beaten
    UNION ALL
    SELECT node_id, about, started_at, alive_until, skew_s
    FROM fencepost.nodes
    WHERE node_id <> $1 AND alive_until > (SELECT fencepost.now())
)
SELECT about, started_at, skew_s,
    extract(epoch FROM alive_until - (SELECT fencepost.now()))::double precision AS alive_for_s
FROM alive
ORDER BY node_id;

-- name: leave
WITH gone AS (DELETE FROM fencepost.nodes WHERE node_id = $1 RETURNING node_id)
SELECT pg_notify('fencepost_leases', '') FROM (SELECT count(*) FROM gone) AS struck;

-- name: live
SELECT about, started_at, skew_s,
    extract(epoch FROM alive_until - (SELECT fencepost.now()))::double precision AS alive_for_s
FROM fencepost.nodes
WHERE alive_until > (SELECT fencepost.now())
ORDER BY node_id;

-- name: sweep
WITH gone AS (
    DELETE FROM fencepost.nodes
    WHERE alive_until < (SELECT fencepost.now()) - make_interval(secs => $1)
    RETURNING node_id
)
SELECT count(*) FROM gone;
