-- name: register
INSERT INTO fencepost.jobs (namespace, name, spec, queue, priority, updated_at)
SELECT $1, given.name, given.spec, given.queue, given.priority, fencepost.now()
FROM unnest($2::text[], $3::text[], $4::text[], $5::smallint[])
    AS given (name, spec, queue, priority)
ORDER BY given.name
ON CONFLICT (namespace, name) DO UPDATE
SET spec = excluded.spec,
    queue = excluded.queue,
    priority = excluded.priority,
    updated_at = excluded.updated_at
WHERE jobs.spec <> excluded.spec;

-- name: all
SELECT name, spec FROM fencepost.jobs WHERE namespace = $1;
