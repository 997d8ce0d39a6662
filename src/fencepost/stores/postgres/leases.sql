-- What the session of another node holds, as far as the end of that session would show.
-- part: of_other_sessions(own)
other.holder IS NOT NULL
    AND other.expires_at > fencepost.now()
    AND other.session_epoch = other.epoch
    AND other.session_key IS NOT NULL
    AND other.session_key IS DISTINCT FROM {own}

-- Free is also what was held by a node whose session with this server has ended: a hint that it was killed.
-- Where the hint is wrong the node learns of its loss at its next renewal, and the ledger refuses its plans
-- until then. A key counts only for the grant that it was left with.
--
-- A row that is held by another is written back unchanged, because only a row that was locked can be
-- returned as it is now rather than as it was when the statement began. The store's time is read after
-- the wait for that lock.
-- name: acquire
INSERT INTO fencepost.leases AS lease (
    shard, holder, epoch, expires_at, session_key, session_epoch, ttl_s
)
SELECT given.shard, $2, 1, fencepost.now() + make_interval(secs => $3), $4, 1, $3
FROM unnest($1::integer[]) AS given (shard)
ORDER BY given.shard
ON CONFLICT (shard) DO UPDATE
SET (holder, epoch, expires_at, session_key, session_epoch, ttl_s, set_back_s) = (
    SELECT
        CASE WHEN free THEN excluded.holder ELSE lease.holder END,
        CASE WHEN free THEN lease.epoch + 1 ELSE lease.epoch END,
        CASE WHEN free THEN at + make_interval(secs => $3) ELSE lease.expires_at END,
        CASE WHEN free THEN excluded.session_key ELSE lease.session_key END,
        CASE WHEN free THEN lease.epoch + 1 ELSE lease.session_epoch END,
        CASE WHEN free THEN excluded.ttl_s ELSE lease.ttl_s END,
        CASE WHEN free THEN ahead_s ELSE lease.set_back_s END
    FROM (
        SELECT moment.at, moment.ahead_s,
            lease.holder IS NULL
            OR lease.expires_at <= moment.at
            OR moment.ahead_s > $5
            OR (
                lease.holder <> excluded.holder
                AND lease.session_epoch = lease.epoch
                AND fencepost.is_gone(lease.session_key)
            ) AS free
        FROM (
            SELECT one.at, fencepost.ahead_s(lease.expires_at, lease.ttl_s, one.at) AS ahead_s
            FROM (SELECT fencepost.now() AS at) AS one
        ) AS moment
    ) AS judged
)
RETURNING shard, holder, epoch, holder = $2 AS granted, set_back_s,
    extract(epoch FROM expires_at - fencepost.now())::double precision AS expires_in_s;

-- Whether the lease still runs is asked after the wait for its row: it may run out meanwhile.
-- name: renew
WITH locked AS MATERIALIZED (
    SELECT shard, expires_at, ttl_s
    FROM fencepost.leases
    WHERE shard = ANY ($1::integer[])
    ORDER BY shard
    FOR UPDATE
), running AS MATERIALIZED (
    SELECT shard, fencepost.ahead_s(expires_at, ttl_s, fencepost.now()) AS ahead_s
    FROM locked
    WHERE expires_at > fencepost.now()
)
UPDATE fencepost.leases AS lease
SET expires_at = CASE
        WHEN running.ahead_s > $6 THEN fencepost.now() + make_interval(secs => $4)
        ELSE greatest(lease.expires_at, fencepost.now() + make_interval(secs => $4))
    END,
    ttl_s = greatest(lease.ttl_s, $4),
    set_back_s = running.ahead_s,
    session_key = $5,
    session_epoch = lease.epoch
FROM unnest($1::integer[], $2::bigint[]) AS given (shard, epoch)
JOIN running ON running.shard = given.shard
WHERE lease.shard = given.shard
    AND lease.epoch = given.epoch
    AND lease.holder = $3
RETURNING lease.shard, lease.epoch, lease.set_back_s,
    EXISTS (
        SELECT 1
        FROM fencepost.leases AS other
        WHERE {of_other_sessions($5)} AND other.shard <> ALL ($1::integer[])
    ) AS others;

-- name: release
WITH locked AS MATERIALIZED (
    SELECT shard FROM fencepost.leases WHERE shard = ANY ($1::integer[]) ORDER BY shard FOR UPDATE
), released AS (
    UPDATE fencepost.leases AS lease
    SET holder = NULL, expires_at = fencepost.now(), session_key = NULL, session_epoch = NULL
    FROM unnest($1::integer[], $2::bigint[]) AS given (shard, epoch)
    JOIN locked ON locked.shard = given.shard
    WHERE lease.shard = given.shard AND lease.epoch = given.epoch AND lease.holder = $3
    RETURNING lease.shard
)
SELECT released.shard, CASE WHEN row_number() OVER () = 1 THEN pg_notify('fencepost_leases', '') END AS told
FROM released;

-- Whether the sessions of others hold leases, and whether one of those sessions has ended.
-- name: others
SELECT count(*) > 0 AS any, coalesce(bool_or(fencepost.is_gone(other.session_key)), false) AS gone
FROM fencepost.leases AS other
WHERE {of_other_sessions($1)};

-- name: read
SELECT shard, holder, epoch,
    greatest(0, extract(epoch FROM expires_at - fencepost.now()))::double precision AS expires_in_s,
    holder IS NOT NULL AND fencepost.ahead_s(expires_at, ttl_s, fencepost.now()) > $1 AS from_future
FROM fencepost.leases
ORDER BY shard;
