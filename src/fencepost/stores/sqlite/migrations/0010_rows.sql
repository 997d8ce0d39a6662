-- Tables as every store has them: steps and leases with the columns of the others, times of the ledger itself as text.

CREATE TEMPORARY TABLE steps_before AS SELECT * FROM steps ORDER BY rowid;
DROP TABLE steps;
CREATE TABLE steps (
    number      INTEGER PRIMARY KEY,
    namespace   TEXT NOT NULL,
    run_key     TEXT NOT NULL,
    name        TEXT NOT NULL,
    result      TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    UNIQUE (namespace, run_key, name)
) STRICT;
INSERT INTO steps (namespace, run_key, name, result, attempt, recorded_at)
SELECT namespace, run_key, name, result, attempt, recorded_at FROM steps_before ORDER BY rowid;
DROP TABLE steps_before;

CREATE TEMPORARY TABLE leases_before AS SELECT * FROM leases;
DROP TABLE leases;
CREATE TABLE leases (
    shard      INTEGER PRIMARY KEY,
    holder     TEXT,
    epoch      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ttl_s      REAL,
    set_back_s REAL NOT NULL DEFAULT 0
) STRICT;
INSERT INTO leases (shard, holder, epoch, expires_at, ttl_s, set_back_s)
SELECT shard, holder, epoch, expires_at, ttl_us / 1e6, set_back_us / 1e6 FROM leases_before;
DROP TABLE leases_before;

UPDATE meta
SET value = strftime('%Y-%m-%dT%H:%M:%S', value / 1000000, 'unixepoch') || printf('.%06d+00:00', value % 1000000)
WHERE name = 'forgotten_before';
DELETE FROM meta WHERE name = 'swept_at';

CREATE INDEX tokens_expiring ON tokens (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX tokens_revoked ON tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX sessions_expiring ON sessions (expires_at);
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;
