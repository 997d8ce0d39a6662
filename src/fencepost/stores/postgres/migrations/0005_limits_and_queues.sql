-- Who may start next: limits of jobs across the fleet, and the pause of a queue.

-- What a run of a limited job counts for. It stands in the line of its job (held by 32), or waits for a slot (16).
ALTER TABLE fencepost.runs ADD COLUMN slot text COLLATE "C";

CREATE INDEX runs_lined ON fencepost.runs (namespace, job, queue, priority, run_at) WHERE held = 32;
CREATE INDEX runs_limited ON fencepost.runs (namespace, job, slot, priority, run_at) WHERE held = 16;
CREATE INDEX runs_limited_ticks ON fencepost.runs (namespace, schedule_id, fire_time)
    WHERE held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0;
CREATE INDEX runs_in_slots ON fencepost.runs (namespace, job, slot)
    WHERE slot IS NOT NULL AND state = 'running';

-- A job without limits has no row. `terms` are those of its spec; `paid_until` is how far ahead its starts have
-- used up its rate, and `next_at` when that lets the next one go.
CREATE TABLE fencepost.limits (
    namespace   text COLLATE "C" NOT NULL,
    job         text COLLATE "C" NOT NULL,
    terms       text NOT NULL,
    concurrency integer,
    paid_until  timestamptz,
    next_at     timestamptz,
    PRIMARY KEY (namespace, job)
) WITH (fillfactor = 50);

ALTER TABLE fencepost.freezes
    DROP CONSTRAINT freezes_kind_check,
    ADD CONSTRAINT freezes_kind_check CHECK (kind IN ('all', 'label', 'queue', 'schedule'));
