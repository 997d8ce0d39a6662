-- Leases on shards.

-- name: acquire
INSERT INTO leases (shard, holder, epoch, expires_at, ttl_us)
VALUES (:shard, :holder, 1, :expires_at, :ttl_us)
ON CONFLICT (shard) DO UPDATE
SET holder = excluded.holder, epoch = leases.epoch + 1, expires_at = excluded.expires_at, ttl_us = excluded.ttl_us,
    set_back_us = coalesce(max(leases.expires_at - leases.ttl_us - :now, 0), 0)
WHERE leases.holder IS NULL OR leases.expires_at <= :now OR leases.expires_at - leases.ttl_us > :now + :step_us

-- name: acquired
SELECT shard, holder, epoch, holder = :holder AS granted, (expires_at - :now) / 1e6 AS expires_in_s,
    set_back_us / 1e6 AS set_back_s
FROM leases
WHERE shard IN (SELECT value FROM json_each(:shards))

-- name: renew
UPDATE leases
SET expires_at = :expires_at, ttl_us = :ttl_us, set_back_us = coalesce(max(expires_at - ttl_us - :now, 0), 0)
WHERE shard = :shard AND holder = :holder AND epoch = :epoch AND expires_at > :now
RETURNING shard, set_back_us / 1e6

-- name: release
UPDATE leases
SET holder = NULL, expires_at = :now
WHERE shard = :shard AND holder = :holder AND epoch = :epoch
RETURNING shard

-- name: read
SELECT shard, holder, epoch, iif(holder IS NULL, 0.0, max((expires_at - :now) / 1e6, 0.0)) AS expires_in_s,
    holder IS NOT NULL AND expires_at - ttl_us > :now + :step_us AS from_future
FROM leases
ORDER BY shard
