-- Credentials. A token is good while it is neither revoked nor past its end.

-- name: create_token
INSERT INTO fencepost.tokens (token_id, digest, name, role, namespace, created_by, created_at, expires_at, rotated_from)
SELECT $1, $2, $3, $4, $5, $6, moment.now, moment.now + $7::float8 * interval '1 second', $8
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (token_id) DO NOTHING
RETURNING number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from;

-- name: get_token
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from,
    fencepost.now() AS now
FROM fencepost.tokens
WHERE token_id = $1;

-- name: get_tokens
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from,
    fencepost.now() AS now
FROM fencepost.tokens
WHERE token_id = ANY ($1::text[]);

-- Nobody ends the token before this transaction is over.
-- name: good_token
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from
FROM fencepost.tokens
WHERE token_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > fencepost.now())
FOR SHARE;

-- name: lock_token
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from,
    revoked_at IS NULL AND (expires_at IS NULL OR expires_at > fencepost.now()) AS good
FROM fencepost.tokens
WHERE token_id = $1
FOR UPDATE;

-- name: successor
SELECT token_id FROM fencepost.tokens WHERE rotated_from = $1;

-- name: tokens
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from
FROM fencepost.tokens
WHERE number < coalesce($1::bigint, 9223372036854775807)
ORDER BY number DESC
LIMIT $2;

-- name: tokens_of
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from
FROM fencepost.tokens
WHERE number < coalesce($1::bigint, 9223372036854775807) AND namespace = $3
ORDER BY number DESC
LIMIT $2;

-- name: shorten_token
UPDATE fencepost.tokens
SET expires_at = least(expires_at, $2)
WHERE token_id = $1
RETURNING number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from;

-- name: shorten_sessions
UPDATE fencepost.sessions
SET expires_at = least(expires_at, $2)
WHERE rests_on = $1;

-- name: revoke_token
UPDATE fencepost.tokens
SET revoked_at = fencepost.now()
WHERE token_id = $1
RETURNING number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
    rotated_from;

-- name: open_link
INSERT INTO fencepost.sign_in_links (link_id, digest, name, role, namespace, created_by, created_at, expires_at, rests_on)
SELECT $1, $2, $3, $4, $5, $6, moment.now, moment.now + $7::float8 * interval '1 second', $8
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (link_id) DO NOTHING
RETURNING link_id;

-- name: get_link
SELECT link_id, digest, name, role, namespace, created_at, created_by, expires_at, session_id, rests_on,
    fencepost.now() AS now
FROM fencepost.sign_in_links
WHERE link_id = $1;

-- Of two that come at the same moment one waits here for the other, and then finds no link that is free.
-- name: redeem_link
UPDATE fencepost.sign_in_links
SET session_id = $2
WHERE link_id = $1 AND session_id IS NULL AND expires_at > fencepost.now()
RETURNING link_id;

-- name: open_session
INSERT INTO fencepost.sessions
    (session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at)
SELECT $1, $2, $3, $4, $5, $6, $9, moment.now, least(moment.now + $7::float8 * interval '1 second', $8::timestamptz), moment.now
FROM (SELECT fencepost.now() AS now) AS moment
ON CONFLICT (session_id) DO NOTHING
RETURNING number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at;

-- name: get_session
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at,
    fencepost.now() AS now
FROM fencepost.sessions
WHERE session_id = $1;

-- name: get_sessions
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at,
    fencepost.now() AS now
FROM fencepost.sessions
WHERE session_id = ANY ($1::text[]);

-- name: sessions
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at
FROM fencepost.sessions
WHERE number < coalesce($1::bigint, 9223372036854775807) AND ended_at IS NULL AND expires_at > fencepost.now()
ORDER BY number DESC
LIMIT $2;

-- name: sessions_of
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at
FROM fencepost.sessions
WHERE number < coalesce($1::bigint, 9223372036854775807) AND ended_at IS NULL AND expires_at > fencepost.now()
    AND namespace = $3
ORDER BY number DESC
LIMIT $2;

-- name: end_session
UPDATE fencepost.sessions
SET ended_at = fencepost.now()
WHERE session_id = $1 AND ended_at IS NULL
RETURNING number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at;

-- name: end_sessions
UPDATE fencepost.sessions
SET ended_at = fencepost.now()
WHERE ended_at IS NULL
    AND expires_at > fencepost.now()
    AND ($1::text IS NULL OR namespace = $1)
    AND ($2::text IS NULL OR rests_on = $2)
RETURNING number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at;

-- name: note_use
WITH token AS (
    UPDATE fencepost.tokens SET last_used_at = greatest(last_used_at, fencepost.now()) WHERE token_id = $1
)
UPDATE fencepost.sessions SET last_used_at = greatest(last_used_at, fencepost.now()) WHERE session_id = $1;

-- Whatever is locked is somebody's at this moment, and is swept another time.
-- name: sweep_tokens
WITH old AS MATERIALIZED (
    SELECT number
    FROM fencepost.tokens
    WHERE least(expires_at, revoked_at) <= fencepost.now() - $1::float8 * interval '1 second'
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM fencepost.tokens AS gone
USING old
WHERE gone.number = old.number
RETURNING gone.number;

-- name: sweep_sessions
WITH old AS MATERIALIZED (
    SELECT number
    FROM fencepost.sessions
    WHERE least(expires_at, ended_at) <= fencepost.now() - $1::float8 * interval '1 second'
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM fencepost.sessions AS gone
USING old
WHERE gone.number = old.number
RETURNING gone.number;

-- name: sweep_links
WITH old AS MATERIALIZED (
    SELECT link_id
    FROM fencepost.sign_in_links
    WHERE expires_at <= fencepost.now() - $1::float8 * interval '1 second'
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM fencepost.sign_in_links AS gone
USING old
WHERE gone.link_id = old.link_id
RETURNING gone.link_id;
