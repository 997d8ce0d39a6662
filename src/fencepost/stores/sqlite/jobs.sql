-- The jobs that are known.

-- name: register
INSERT INTO jobs (namespace, name, spec, queue, priority, updated_at)
VALUES (:namespace, :name, :spec, :queue, :priority, :now)
ON CONFLICT (namespace, name) DO UPDATE
SET spec = excluded.spec, queue = excluded.queue, priority = excluded.priority, updated_at = excluded.updated_at
WHERE jobs.spec <> excluded.spec

-- name: all
SELECT name, spec FROM jobs WHERE namespace = :namespace ORDER BY name
