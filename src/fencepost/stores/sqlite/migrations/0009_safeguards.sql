-- Which incarnation of its ledger this is.

INSERT INTO meta (name, value) VALUES ('incarnation', '1-' || lower(hex(randomblob(8))));

-- A lease carries the term that it was last granted or renewed for: an expiry further ahead is from the future, because the
-- clock was set back. How far it was set back is kept by the grant or renewal that found out.
ALTER TABLE leases ADD COLUMN ttl_us INTEGER;
ALTER TABLE leases ADD COLUMN set_back_us INTEGER NOT NULL DEFAULT 0;

-- Which credential an entry of the audit log was written with; tokens of workers.

ALTER TABLE audit_log ADD COLUMN credential TEXT;

-- A check cannot be changed, so the table is written anew.
CREATE TEMPORARY TABLE tokens_before AS SELECT * FROM tokens;
DROP TABLE tokens;
CREATE TABLE tokens (
    number       INTEGER PRIMARY KEY,
    token_id     TEXT NOT NULL UNIQUE,
    digest       TEXT NOT NULL,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('worker', 'viewer', 'operator', 'admin')),
    namespace    TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    rotated_from TEXT UNIQUE
) STRICT;
CREATE INDEX tokens_by_namespace ON tokens (namespace, number);
INSERT INTO tokens SELECT * FROM tokens_before;
DROP TABLE tokens_before;
