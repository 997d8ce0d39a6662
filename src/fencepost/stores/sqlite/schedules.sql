-- Lists of schedules.

-- part: wanted
s.namespace = :namespace
AND iif(:state IS NULL, s.state <> 'removed', s.state = :state)
AND (:text IS NULL OR instr(s.schedule_id, :text) > 0 OR instr(s.job, :text) > 0)
AND (:job IS NULL OR s.job = :job)
AND (:frozen IS NULL OR s.frozen = :frozen)
AND (:label IS NULL OR EXISTS (
    SELECT 1 FROM json_each(s.labels) AS one
    WHERE one.key = :label AND (:label_value IS NULL OR one.value = :label_value)
))

-- name: find
SELECT s.namespace, s.schedule_id, s.shard, s.version, s.state, s.spec, s.code_spec, s.code_digest,
       s.updated_at, s.frozen, c.planned_through
FROM schedules s
JOIN cursors c USING (namespace, schedule_id, version)
WHERE s.schedule_id > :after AND {wanted}
ORDER BY s.schedule_id
LIMIT :limit

-- name: count
SELECT count(*)
FROM schedules s
WHERE {wanted}

-- name: labels
SELECT DISTINCT one.key || '=' || one.value AS label
FROM schedules s, json_each(s.labels) AS one
WHERE s.namespace = :namespace AND s.state <> 'removed'
ORDER BY label
LIMIT :limit
