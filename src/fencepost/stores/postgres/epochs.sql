-- One statement, so that nobody stalls with the shard's row locked; it says what `model.leader.succeed`
-- says. The row of before is read as it was when the statement began, for people.
-- name: register
WITH before AS MATERIALIZED (
    SELECT shard, lineage FROM fencepost.epochs WHERE shard = ANY ($1::integer[])
), registered AS (
    INSERT INTO fencepost.epochs AS known (shard, epoch, holder, lineage, lease_epoch, since, transitions)
    SELECT given.shard, given.epoch, $4, given.lineage, given.epoch, fencepost.now(), 1
    FROM unnest($1::integer[], $2::bigint[], $3::text[]) AS given (shard, epoch, lineage)
    ORDER BY given.shard
    ON CONFLICT (shard) DO UPDATE
    SET (epoch, holder, lineage, lease_epoch, since, transitions) = (
        SELECT
            CASE WHEN again THEN known.epoch ELSE greatest(known.epoch + 1, excluded.lease_epoch) END,
            excluded.holder,
            excluded.lineage,
            excluded.lease_epoch,
            CASE WHEN again THEN known.since ELSE fencepost.now() END,
            CASE WHEN again THEN known.transitions ELSE known.transitions + 1 END
        FROM (
            SELECT known.lineage = excluded.lineage AND known.lease_epoch = excluded.lease_epoch AS again
        ) AS judged
    )
    WHERE known.lineage <> excluded.lineage
        OR known.lease_epoch < excluded.lease_epoch
        OR known.lease_epoch = excluded.lease_epoch AND known.holder = excluded.holder
    RETURNING shard, epoch
)
SELECT registered.shard, registered.epoch, before.lineage AS lineage_before
FROM registered
LEFT JOIN before ON before.shard = registered.shard;

-- name: known
SELECT shard, lease_epoch FROM fencepost.epochs WHERE shard = ANY ($1::integer[]);

-- name: all
SELECT shard, epoch, holder, lineage, lease_epoch, since, transitions FROM fencepost.epochs ORDER BY shard;

-- name: shards
SELECT value::integer FROM fencepost.meta WHERE name = 'shards';

-- Whoever creates a schedule shares this row with others who do, and keeps a new cut of the shards waiting.
-- name: share_shards
SELECT value::integer FROM fencepost.meta WHERE name = 'shards' FOR SHARE;

-- name: take_shards
SELECT value::integer FROM fencepost.meta WHERE name = 'shards' FOR UPDATE;

-- name: set_shards
UPDATE fencepost.meta SET value = $1 WHERE name = 'shards';

-- The rows in one order, after every plan that is being written.
-- name: take_epochs
SELECT shard FROM fencepost.epochs ORDER BY shard FOR UPDATE;

-- name: raise_all
UPDATE fencepost.epochs SET epoch = epoch + 1;

-- name: schedules
SELECT namespace, schedule_id, shard FROM fencepost.schedules ORDER BY namespace, schedule_id;

-- name: move_schedules
UPDATE fencepost.schedules AS schedule
SET shard = given.shard
FROM unnest($1::text[], $2::text[], $3::integer[]) AS given (namespace, schedule_id, shard)
WHERE schedule.namespace = given.namespace AND schedule.schedule_id = given.schedule_id;

-- name: move_cursors
UPDATE fencepost.cursors AS cursor
SET shard = given.shard
FROM unnest($1::text[], $2::text[], $3::integer[]) AS given (namespace, schedule_id, shard)
WHERE cursor.namespace = given.namespace AND cursor.schedule_id = given.schedule_id;

-- name: tell
SELECT pg_notify('fencepost_leases', '');
