-- The ledger's record of leaders.

-- name: get
SELECT shard, epoch, holder, lineage, lease_epoch, since, transitions FROM epochs WHERE shard = :shard

-- name: all
SELECT shard, epoch, holder, lineage, lease_epoch, since, transitions FROM epochs ORDER BY shard

-- name: register
INSERT INTO epochs (shard, epoch, holder, lineage, lease_epoch, since, transitions)
VALUES (:shard, :epoch, :holder, :lineage, :lease_epoch, :now, 1)
ON CONFLICT (shard) DO UPDATE
SET epoch = excluded.epoch, holder = excluded.holder, lineage = excluded.lineage,
    lease_epoch = excluded.lease_epoch, since = excluded.since, transitions = transitions + 1

-- name: raise_all
UPDATE epochs SET epoch = epoch + 1

-- name: schedules
SELECT namespace, schedule_id, shard FROM schedules

-- name: move_schedule
UPDATE schedules SET shard = :shard WHERE namespace = :namespace AND schedule_id = :schedule_id

-- name: move_cursors
UPDATE cursors SET shard = :shard WHERE namespace = :namespace AND schedule_id = :schedule_id
