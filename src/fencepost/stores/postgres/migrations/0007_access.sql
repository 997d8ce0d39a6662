-- Who may come in: tokens, sessions and sign-in links, of which only digests are kept; and what was answered to calls
-- that may be repeated.

CREATE TABLE fencepost.tokens (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id     text COLLATE "C" NOT NULL UNIQUE,
    digest       text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    role         text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    created_by   text NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    rotated_from text COLLATE "C" UNIQUE
);

CREATE INDEX tokens_by_namespace ON fencepost.tokens (namespace, number);
CREATE INDEX tokens_over ON fencepost.tokens ((least(expires_at, revoked_at)));

CREATE TABLE fencepost.sessions (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id   text COLLATE "C" NOT NULL UNIQUE,
    digest       text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    role         text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace    text COLLATE "C" NOT NULL,
    opened_with  text COLLATE "C" NOT NULL,
    rests_on     text COLLATE "C",
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    ended_at     timestamptz
);

CREATE INDEX sessions_by_namespace ON fencepost.sessions (namespace, number);
CREATE INDEX sessions_by_what_they_rest_on ON fencepost.sessions (rests_on);
CREATE INDEX sessions_over ON fencepost.sessions ((least(expires_at, ended_at)));

-- A link is used once: `session_id` is what became of it. It ends with the token, or the setting, that it rests on.
CREATE TABLE fencepost.sign_in_links (
    link_id    text COLLATE "C" PRIMARY KEY,
    digest     text COLLATE "C" NOT NULL,
    name       text NOT NULL,
    role       text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    namespace  text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz NOT NULL,
    session_id text COLLATE "C",
    rests_on   text COLLATE "C"
);

CREATE INDEX sign_in_links_over ON fencepost.sign_in_links (expires_at);

-- Answers to calls with a key of their own. `held_until` is until when whoever began it is waited for.
CREATE TABLE fencepost.answers (
    namespace    text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    fingerprint  text COLLATE "C" NOT NULL,
    asked_at     timestamptz NOT NULL,
    held_until   timestamptz NOT NULL,
    status       integer,
    body         bytea,
    headers      text,
    PRIMARY KEY (namespace, principal_id, key)
);

CREATE INDEX answers_by_age ON fencepost.answers (asked_at);
