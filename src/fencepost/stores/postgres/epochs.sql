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
    RETURNING shard, epoch, holder, lineage, since
), begun AS (
    INSERT INTO fencepost.terms (shard, epoch, holder, lineage, since)
    SELECT shard, epoch, holder, lineage, since FROM registered ORDER BY shard
    ON CONFLICT (shard, epoch) DO NOTHING
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

-- After every epoch was raised: whoever leads goes on under the new one, unless the shard is gone.
-- name: begin_all
INSERT INTO fencepost.terms (shard, epoch, holder, lineage, since)
SELECT shard, epoch, holder, lineage, fencepost.now()
FROM fencepost.epochs
WHERE shard < $1 AND holder IS NOT NULL
ORDER BY shard;

-- name: end_above
UPDATE fencepost.terms AS term
SET until = fencepost.now()
WHERE term.shard >= $1
    AND term.until IS NULL
    AND term.epoch = (SELECT max(last.epoch) FROM fencepost.terms AS last WHERE last.shard = term.shard);

-- name: terms
SELECT term.number, term.shard, term.epoch, term.holder, term.lineage, term.since,
    coalesce(term.until, next.since) AS until
FROM fencepost.terms AS term
LEFT JOIN LATERAL (
    SELECT later.since
    FROM fencepost.terms AS later
    WHERE later.shard = term.shard AND later.epoch > term.epoch
    ORDER BY later.epoch
    LIMIT 1
) AS next ON true
WHERE ($1::integer IS NULL OR term.shard = $1) AND ($2::bigint IS NULL OR term.number < $2)
ORDER BY term.number DESC
LIMIT $3;

-- name: note_refusal
INSERT INTO fencepost.refusals (at, shard, epoch, holder, known_epoch, known_holder)
SELECT fencepost.now(), given.shard, $2, $3, coalesce(known.epoch, 0), known.holder
FROM (SELECT $1::integer AS shard) AS given
LEFT JOIN fencepost.epochs AS known ON known.shard = given.shard;

-- name: refusals
SELECT number, at, shard, epoch, holder, known_epoch, known_holder
FROM fencepost.refusals
WHERE $1::bigint IS NULL OR number < $1
ORDER BY number DESC
LIMIT $2;

-- name: trim
WITH old_terms AS (
    DELETE FROM fencepost.terms AS term
    WHERE term.number <= (SELECT number FROM fencepost.terms ORDER BY number DESC LIMIT 1 OFFSET $1)
        AND (
            term.until IS NOT NULL
            OR EXISTS (
                SELECT 1 FROM fencepost.terms AS next
                WHERE next.shard = term.shard AND next.epoch > term.epoch
            )
        )
    RETURNING 1
), old_refusals AS (
    DELETE FROM fencepost.refusals
    WHERE number <= (SELECT number FROM fencepost.refusals ORDER BY number DESC LIMIT 1 OFFSET $2)
    RETURNING 1
)
SELECT (SELECT count(*) FROM old_terms) + (SELECT count(*) FROM old_refusals);

-- The sum of the epochs fits: one that was lifted has 53 bits, and there are at most 1024 shards.
-- name: high_water
SELECT
    (SELECT value FROM fencepost.meta WHERE name = 'incarnation') AS incarnation,
    (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM fencepost.fences) AS fence,
    (SELECT coalesce(sum(epoch), 0)::bigint FROM fencepost.epochs) AS epochs,
    (SELECT value FROM fencepost.meta WHERE name = 'older') AS older;

-- name: mark_older
INSERT INTO fencepost.meta (name, value) VALUES ('older', $1) ON CONFLICT (name) DO NOTHING;

-- name: now
SELECT fencepost.now();

-- name: take_incarnation
SELECT value FROM fencepost.meta WHERE name = 'incarnation' FOR UPDATE;

-- name: lift
WITH epochs AS (
    UPDATE fencepost.epochs SET epoch = greatest(epoch + $1::bigint, $2::bigint)
), older AS (
    DELETE FROM fencepost.meta WHERE name = 'older'
), incarnation AS (
    UPDATE fencepost.meta SET value = $3 WHERE name = 'incarnation'
)
SELECT setval('fencepost.fences', greatest(last_value + $1::bigint, $2::bigint)) FROM fencepost.fences;
