-- Schedules, their versions and cursors.

-- name: get
SELECT s.namespace, s.schedule_id, s.shard, s.version, s.state, s.spec, s.code_spec, s.code_digest,
       s.updated_at, s.frozen, c.planned_through
FROM schedules s
JOIN cursors c USING (namespace, schedule_id, version)
WHERE s.namespace = :namespace AND s.schedule_id = :schedule_id

-- name: page
SELECT s.namespace, s.schedule_id, s.shard, s.version, s.state, s.spec, s.code_spec, s.code_digest,
       s.updated_at, s.frozen, c.planned_through
FROM schedules s
JOIN cursors c USING (namespace, schedule_id, version)
WHERE s.namespace = :namespace AND s.schedule_id > :after AND s.state <> 'removed'
ORDER BY s.schedule_id
LIMIT :limit

-- name: find
SELECT s.namespace, s.schedule_id, s.shard, s.version, s.state, s.spec, s.code_spec, s.code_digest,
       s.updated_at, s.frozen, c.planned_through
FROM schedules s
JOIN cursors c USING (namespace, schedule_id, version)
WHERE s.schedule_id > :after AND

-- name: count
SELECT count(*)
FROM schedules s
WHERE

-- name: number
SELECT count(*) FROM schedules WHERE namespace = :namespace AND state <> 'removed'

-- Both end in this.
-- name: wanted
s.namespace = :namespace
AND iif(:state IS NULL, s.state <> 'removed', s.state = :state)
AND (:text IS NULL OR instr(s.schedule_id, :text) > 0 OR instr(s.job, :text) > 0)
AND (:job IS NULL OR s.job = :job)
AND (:frozen IS NULL OR s.frozen = :frozen)
AND (:label IS NULL OR EXISTS (
    SELECT 1 FROM json_each(s.labels) AS one
    WHERE one.key = :label AND (:label_value IS NULL OR one.value = :label_value)
))
ORDER BY s.schedule_id
LIMIT :limit

-- name: labels
SELECT DISTINCT one.key || '=' || one.value AS label
FROM schedules s, json_each(s.labels) AS one
WHERE s.namespace = :namespace AND s.state <> 'removed'
ORDER BY label
LIMIT :limit

-- name: history
SELECT version, spec, in_force_from, in_force_until, tzdata
FROM schedule_versions
WHERE namespace = :namespace AND schedule_id = :schedule_id AND version > :after
  AND (:since IS NULL OR in_force_until IS NULL OR in_force_until > :since)
ORDER BY version
LIMIT :limit

-- name: last_version
SELECT tzdata, coalesce(in_force_until, in_force_from) AS not_before
FROM schedule_versions
WHERE namespace = :namespace AND schedule_id = :schedule_id
ORDER BY version DESC
LIMIT 1

-- What an operator holds by name stays, as a tick by hand: the next version knows nothing of it.
-- name: spare
UPDATE runs INDEXED BY runs_by_schedule
SET origin = 'manual'
WHERE namespace = :namespace AND schedule_id = :schedule_id AND fire_time > :boundary AND state = 'planned'
  AND held & :spared <> 0

-- name: withdraw
UPDATE runs INDEXED BY runs_by_schedule
SET state = 'withdrawn', reason = :reason, finished_at = :now, held = 0
WHERE namespace = :namespace AND schedule_id = :schedule_id AND fire_time > :boundary AND state = 'planned'
  AND held & :spared = 0

-- name: close_version
UPDATE schedule_versions
SET in_force_until = :boundary
WHERE namespace = :namespace AND schedule_id = :schedule_id AND version = :version AND in_force_until IS NULL

-- name: close_cursor
UPDATE cursors
SET until = :boundary, next_fire_at = iif(planned_through >= :boundary, NULL, next_fire_at)
WHERE namespace = :namespace AND schedule_id = :schedule_id AND version = :version AND until IS NULL

-- name: put_version
INSERT INTO schedule_versions
    (namespace, schedule_id, version, spec, job, in_force_from, in_force_until, tzdata)
VALUES (:namespace, :schedule_id, :version, :spec, :job, :boundary,
        iif(:state = 'active', NULL, :boundary), :tzdata)

-- name: put_schedule
INSERT INTO schedules (namespace, schedule_id, shard, version, state, spec, job, queue, priority, labels, updated_at,
                       frozen)
VALUES (:namespace, :schedule_id, :shard, :version, :state, :spec, :job, :queue, :priority, :labels, :now, :frozen)
ON CONFLICT (namespace, schedule_id) DO UPDATE
SET version = excluded.version, state = excluded.state, spec = excluded.spec, job = excluded.job,
    queue = excluded.queue, priority = excluded.priority, labels = excluded.labels, updated_at = excluded.updated_at,
    frozen = excluded.frozen

-- name: put_cursor
INSERT INTO cursors (namespace, schedule_id, shard, version, planned_through, next_fire_at, until, tzdata, frozen)
VALUES (:namespace, :schedule_id, :shard, :version, :boundary,
        iif(:state = 'active', :boundary, NULL), iif(:state = 'active', NULL, :boundary), :tzdata, :frozen)

-- name: forget_uses
DELETE FROM calendar_uses WHERE namespace = :namespace AND schedule_id = :schedule_id

-- name: record_uses
INSERT INTO calendar_uses (namespace, schedule_id, calendar, revision)
SELECT :namespace, :schedule_id, key, value FROM json_each(:uses)

-- name: set_state
UPDATE schedules
SET state = :state, updated_at = :now
WHERE namespace = :namespace AND schedule_id = :schedule_id

-- name: record_code
UPDATE schedules
SET code_spec = :spec, code_digest = :code_digest
WHERE namespace = :namespace AND schedule_id = :schedule_id
