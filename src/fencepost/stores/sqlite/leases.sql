-- Leases on shards.

-- name: acquire
INSERT INTO leases (shard, holder, epoch, expires_at)
VALUES (:shard, :holder, 1, :expires_at)
ON CONFLICT (shard) DO UPDATE
SET holder = excluded.holder, epoch = leases.epoch + 1, expires_at = excluded.expires_at
WHERE leases.holder IS NULL OR leases.expires_at <= :now

-- name: acquired
SELECT shard, holder, epoch, holder = :holder AS granted, (expires_at - :now) / 1e6 AS expires_in_s
FROM leases
WHERE shard IN (SELECT value FROM json_each(:shards))

-- name: renew
UPDATE leases
SET expires_at = :expires_at
WHERE shard = :shard AND holder = :holder AND epoch = :epoch AND expires_at > :now
RETURNING shard

-- name: release
UPDATE leases
SET holder = NULL, expires_at = :now
WHERE shard = :shard AND holder = :holder AND epoch = :epoch
RETURNING shard

-- name: read
SELECT shard, holder, epoch, iif(holder IS NULL, 0.0, max((expires_at - :now) / 1e6, 0.0)) AS expires_in_s
FROM leases
ORDER BY shard
