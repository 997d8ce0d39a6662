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

-- name: begin_term
INSERT INTO terms (shard, epoch, holder, lineage, since)
VALUES (:shard, :epoch, :holder, :lineage, :now)

-- After every epoch was raised: whoever leads goes on under the new one, unless the shard is gone.
-- name: begin_all
INSERT INTO terms (shard, epoch, holder, lineage, since)
SELECT shard, epoch, holder, lineage, :now
FROM epochs
WHERE shard < :shards AND holder IS NOT NULL
ORDER BY shard

-- name: end_above
UPDATE terms
SET until = :now
WHERE shard >= :shards AND until IS NULL
  AND epoch = (SELECT max(last.epoch) FROM terms AS last WHERE last.shard = terms.shard)

-- name: terms
SELECT t.number, t.shard, t.epoch, t.holder, t.lineage, t.since,
       coalesce(t.until, (
           SELECT next.since FROM terms AS next
           WHERE next.shard = t.shard AND next.epoch > t.epoch
           ORDER BY next.epoch
           LIMIT 1
       )) AS until
FROM terms AS t
WHERE t.number < :before AND (:shard IS NULL OR t.shard = :shard)
ORDER BY t.number DESC
LIMIT :limit

-- name: note_refusal
INSERT INTO refusals (at, shard, epoch, holder, known_epoch, known_holder)
SELECT :now, :shard, :epoch, :holder, coalesce(known.epoch, 0), known.holder
FROM (SELECT 1) LEFT JOIN epochs AS known ON known.shard = :shard

-- name: refusals
SELECT number, at, shard, epoch, holder, known_epoch, known_holder
FROM refusals
WHERE number < :before
ORDER BY number DESC
LIMIT :limit

-- name: trim_terms
DELETE FROM terms
WHERE number <= (SELECT number FROM terms ORDER BY number DESC LIMIT 1 OFFSET :kept)
  AND (until IS NOT NULL
       OR EXISTS (SELECT 1 FROM terms AS next WHERE next.shard = terms.shard AND next.epoch > terms.epoch))

-- name: trim_refusals
DELETE FROM refusals
WHERE number <= (SELECT number FROM refusals ORDER BY number DESC LIMIT 1 OFFSET :kept)

-- name: high_water
SELECT (SELECT value FROM meta WHERE name = 'incarnation'),
       (SELECT value FROM sequences WHERE name = 'fences'),
       (SELECT coalesce(sum(epoch), 0) FROM epochs),
       (SELECT value FROM meta WHERE name = 'older')

-- name: mark_older
INSERT INTO meta (name, value) VALUES ('older', :why) ON CONFLICT (name) DO NOTHING

-- name: forget_older
DELETE FROM meta WHERE name = 'older'

-- name: set_incarnation
UPDATE meta SET value = :incarnation WHERE name = 'incarnation'

-- name: lift_fences
UPDATE sequences SET value = max(value + :least, :floor) WHERE name = 'fences'

-- name: lift_epochs
UPDATE epochs SET epoch = max(epoch + :least, :floor)
