-- Credentials. A token is good while it is neither revoked nor past its end.

-- name: create_token
INSERT INTO tokens (token_id, digest, name, role, namespace, created_at, created_by, expires_at, rotated_from)
VALUES (:token_id, :digest, :name, :role, :namespace, :now, :author, :expires_at, :rotated_from)
ON CONFLICT (token_id) DO NOTHING
RETURNING token_id

-- name: get_token
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
       rotated_from
FROM tokens
WHERE token_id = :id

-- name: get_tokens
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
       rotated_from
FROM tokens
WHERE token_id IN (SELECT value FROM json_each(:ids))

-- name: good_token
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
       rotated_from
FROM tokens
WHERE token_id = :id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)

-- name: successor
SELECT token_id FROM tokens WHERE rotated_from = :id

-- name: tokens
SELECT number, token_id, digest, name, role, namespace, created_at, created_by, expires_at, last_used_at, revoked_at,
       rotated_from
FROM tokens
WHERE (:namespace IS NULL OR namespace = :namespace) AND number < :before_number
ORDER BY number DESC
LIMIT :limit

-- name: shorten_token
UPDATE tokens
SET expires_at = min(coalesce(expires_at, :until), :until)
WHERE token_id = :id

-- name: shorten_sessions
UPDATE sessions
SET expires_at = min(expires_at, :until)
WHERE rests_on = :id

-- name: revoke_token
UPDATE tokens
SET revoked_at = :now
WHERE token_id = :id AND revoked_at IS NULL

-- name: open_link
INSERT INTO sign_in_links (link_id, digest, name, role, namespace, created_at, created_by, expires_at, rests_on)
VALUES (:link_id, :digest, :name, :role, :namespace, :now, :author, :expires_at, :rests_on)
ON CONFLICT (link_id) DO NOTHING
RETURNING link_id

-- name: get_link
SELECT link_id, digest, name, role, namespace, created_at, created_by, expires_at, session_id, rests_on
FROM sign_in_links
WHERE link_id = :id

-- name: redeem_link
UPDATE sign_in_links
SET session_id = :session_id
WHERE link_id = :id AND session_id IS NULL AND expires_at > :now
RETURNING link_id

-- name: open_session
INSERT INTO sessions
    (session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at)
VALUES (:session_id, :digest, :name, :role, :namespace, :opened_with, :rests_on, :now, :expires_at, :now)

-- name: get_session
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at
FROM sessions
WHERE session_id = :id

-- name: get_sessions
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at
FROM sessions
WHERE session_id IN (SELECT value FROM json_each(:ids))

-- name: sessions
SELECT number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at
FROM sessions
WHERE ended_at IS NULL AND expires_at > :now AND (:namespace IS NULL OR namespace = :namespace)
  AND number < :before_number
ORDER BY number DESC
LIMIT :limit

-- name: end_session
UPDATE sessions
SET ended_at = :now
WHERE session_id = :id AND ended_at IS NULL
RETURNING session_id

-- name: end_sessions
UPDATE sessions
SET ended_at = :now
WHERE ended_at IS NULL AND expires_at > :now
  AND (:namespace IS NULL OR namespace = :namespace) AND (:rests_on IS NULL OR rests_on = :rests_on)
RETURNING
    number, session_id, digest, name, role, namespace, opened_with, rests_on, created_at, expires_at, last_used_at, ended_at

-- name: note_use_of_token
UPDATE tokens SET last_used_at = max(coalesce(last_used_at, :now), :now) WHERE token_id = :id

-- name: note_use_of_session
UPDATE sessions SET last_used_at = max(last_used_at, :now) WHERE session_id = :id

-- name: sweep_tokens
DELETE FROM tokens
WHERE number IN (SELECT number FROM tokens WHERE expires_at <= :border OR revoked_at <= :border LIMIT :limit)
RETURNING number

-- name: sweep_sessions
DELETE FROM sessions
WHERE number IN (SELECT number FROM sessions WHERE expires_at <= :border OR ended_at <= :border LIMIT :limit)
RETURNING number

-- name: sweep_links
DELETE FROM sign_in_links
WHERE link_id IN (SELECT link_id FROM sign_in_links WHERE expires_at <= :border LIMIT :limit)
RETURNING link_id
