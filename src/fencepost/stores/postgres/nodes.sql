-- name: beat
WITH beaten AS (
    INSERT INTO fencepost.nodes AS node (
        node_id, about, started_at, alive_until, skew_s, report, reported_at, session_key
    )
    SELECT $1, $2, at, at + make_interval(secs => $4), $3, $5, at, $6
    FROM (SELECT fencepost.now() AS at) AS moment
    ON CONFLICT (node_id) DO UPDATE
    SET about = excluded.about,
        alive_until = fencepost.now() + make_interval(secs => $4),
        skew_s = excluded.skew_s,
        report = excluded.report,
        reported_at = fencepost.now(),
        session_key = excluded.session_key
    RETURNING node_id, about, started_at, alive_until, report, reported_at, draining
), alive AS (
    SELECT node_id, about, started_at, alive_until, report, reported_at, draining FROM beaten
    UNION ALL
    SELECT node_id, about, started_at, alive_until, report, reported_at, draining
    FROM fencepost.nodes
    WHERE node_id <> $1
        AND alive_until > (SELECT fencepost.now())
        AND coalesce(reported_at <= (SELECT fencepost.now()) + make_interval(secs => $7), true)
        AND NOT fencepost.is_gone(session_key)
)
SELECT about, started_at, report, reported_at, draining,
    extract(epoch FROM alive_until - (SELECT fencepost.now()))::double precision AS alive_for_s,
    (SELECT value FROM fencepost.meta WHERE name = 'incarnation') AS incarnation,
    (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM fencepost.fences) AS fence,
    (SELECT coalesce(sum(epoch), 0)::bigint FROM fencepost.epochs) AS epochs,
    (SELECT value FROM fencepost.meta WHERE name = 'older') AS older,
    (SELECT value::integer FROM fencepost.meta WHERE name = 'shards') AS shards
FROM alive
ORDER BY node_id;

-- name: live
SELECT about, started_at, report, reported_at, draining,
    extract(epoch FROM alive_until - (SELECT fencepost.now()))::double precision AS alive_for_s
FROM fencepost.nodes
WHERE alive_until > (SELECT fencepost.now())
    AND coalesce(reported_at <= (SELECT fencepost.now()) + make_interval(secs => $1), true)
    AND NOT fencepost.is_gone(session_key)
ORDER BY node_id;
