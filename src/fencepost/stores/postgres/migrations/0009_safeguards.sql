-- What keeps a fleet from harming itself.

-- Indexes over all schedules are for queries that ask for them, by a condition that always holds: a server without
-- statistics must not walk them for the runs of one schedule. What is parked is in the order in which it is unparked.
DROP INDEX fencepost.runs_due_ticks, fencepost.runs_by_schedule, fencepost.runs_parked, fencepost.runs_held,
    fencepost.runs_by_origin, fencepost.schedules_by_change;
CREATE INDEX runs_due_ticks ON fencepost.runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0 AND attempt >= 0;
CREATE INDEX runs_by_schedule ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE schedule_id IS NOT NULL AND epoch >= 0;
CREATE INDEX runs_parked ON fencepost.runs (namespace, schedule_id, fire_time, run_key) WHERE held = 8;
CREATE INDEX runs_held ON fencepost.runs (namespace, fire_time) WHERE held <> 0 AND attempt >= 0;
CREATE INDEX runs_by_origin ON fencepost.runs (namespace, origin, fire_time)
    WHERE origin <> 'live' AND attempt >= 0;
CREATE INDEX schedules_by_change ON fencepost.schedules (namespace, updated_at) WHERE version >= 0;

-- Which incarnation of its ledger this is.

INSERT INTO fencepost.meta (name, value)
VALUES ('incarnation', '1-' || replace(gen_random_uuid()::text, '-', ''));

-- A lease carries the term that it was last granted or renewed for: an expiry further ahead is from the future,
-- because the clock was set back. How far is kept by the grant or renewal that found out.
ALTER TABLE fencepost.leases
    ADD COLUMN ttl_s double precision,
    ADD COLUMN set_back_s double precision NOT NULL DEFAULT 0;

CREATE FUNCTION fencepost.ahead_s(expires_at timestamptz, ttl_s double precision, at timestamptz)
    RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT greatest(coalesce(extract(epoch FROM expires_at - at)::double precision - ttl_s, 0), 0)';

-- Which credential an entry of the audit log was written with; tokens of workers.

ALTER TABLE fencepost.audit_log ADD COLUMN credential text COLLATE "C";

ALTER TABLE fencepost.tokens
    DROP CONSTRAINT tokens_role_check,
    ADD CONSTRAINT tokens_role_check CHECK (role IN ('worker', 'viewer', 'operator', 'admin'));
