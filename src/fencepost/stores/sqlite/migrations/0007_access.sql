-- Who may come in: tokens, sessions and sign-in links, of which only digests are kept; and what was answered to calls
-- that may be repeated.

CREATE TABLE tokens (
    number       INTEGER PRIMARY KEY,
    token_id     TEXT NOT NULL UNIQUE,
    digest       TEXT NOT NULL,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    rotated_from TEXT UNIQUE
) STRICT;

CREATE INDEX tokens_by_namespace ON tokens (namespace, number);

CREATE TABLE sessions (
    number       INTEGER PRIMARY KEY,
    session_id   TEXT NOT NULL UNIQUE,
    digest       TEXT NOT NULL,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    TEXT NOT NULL,
    opened_with  TEXT NOT NULL,
    rests_on     TEXT,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

CREATE INDEX sessions_by_namespace ON sessions (namespace, number);
CREATE INDEX sessions_by_what_they_rest_on ON sessions (rests_on);

-- A link is used once: `session_id` is what became of it. It ends with the token, or the setting, that it rests on.
CREATE TABLE sign_in_links (
    link_id    TEXT PRIMARY KEY,
    digest     TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace  TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    session_id TEXT,
    rests_on   TEXT
) STRICT;

CREATE INDEX sign_in_links_over ON sign_in_links (expires_at);

-- Answers to calls with a key of their own. `held_until` is until when whoever began it is waited for.
CREATE TABLE answers (
    namespace    TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    asked_at     INTEGER NOT NULL,
    held_until   INTEGER NOT NULL,
    status       INTEGER,
    body         BLOB,
    headers      TEXT,
    PRIMARY KEY (namespace, principal_id, key)
) STRICT;

CREATE INDEX answers_by_age ON answers (asked_at);
