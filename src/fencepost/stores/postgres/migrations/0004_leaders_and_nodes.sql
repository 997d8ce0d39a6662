-- Leases elsewhere: whose grant the ledger accepted last, since when and how often that changed; what nodes
-- report of themselves, which of them are being drained, and by which session each can be seen to live.

ALTER TABLE fencepost.epochs
    ADD COLUMN holder      text COLLATE "C",
    ADD COLUMN lineage     text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN lease_epoch bigint NOT NULL DEFAULT 0,
    ADD COLUMN since       timestamptz,
    ADD COLUMN transitions bigint NOT NULL DEFAULT 0;

-- A key counts only for the grant that it was left with: a node of an earlier release leaves none.
ALTER TABLE fencepost.leases
    ADD COLUMN session_key   bigint,
    ADD COLUMN session_epoch bigint;

ALTER TABLE fencepost.nodes
    ADD COLUMN report      text NOT NULL DEFAULT '{}',
    ADD COLUMN reported_at timestamptz,
    ADD COLUMN draining    boolean NOT NULL DEFAULT false,
    ADD COLUMN session_key bigint;

-- A node that listens holds a shared lock of its own on that session. Nobody else takes it but to look
-- whether it is still held; two who look at the same moment may both be told that it is.
CREATE FUNCTION fencepost.is_gone(session_key bigint) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    AS 'SELECT CASE WHEN session_key IS NULL THEN false ELSE pg_try_advisory_xact_lock(session_key) END';
