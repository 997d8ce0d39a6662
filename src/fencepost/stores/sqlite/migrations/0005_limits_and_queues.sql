-- Who may start next: limits of jobs across the fleet, and the pause of a queue.

-- What a run of a limited job counts for. It stands in the line of its job (held by 32), or waits for a slot (16).
ALTER TABLE runs ADD COLUMN slot TEXT;

CREATE INDEX runs_lined ON runs (namespace, job, queue, priority, run_at) WHERE held = 32;
CREATE INDEX runs_limited ON runs (namespace, job, slot, priority, run_at) WHERE held = 16;
CREATE INDEX runs_limited_ticks ON runs (namespace, schedule_id, fire_time)
    WHERE held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0;
CREATE INDEX runs_in_slots ON runs (namespace, job, slot) WHERE slot IS NOT NULL AND state = 'running';

-- A job without limits has no row. `terms` are those of its spec; `paid_until` is how far ahead its starts have used
-- up its rate, and `next_at` when that lets the next one go.
CREATE TABLE limits (
    namespace   TEXT NOT NULL,
    job         TEXT NOT NULL,
    terms       TEXT NOT NULL,
    concurrency INTEGER,
    paid_until  INTEGER,
    next_at     INTEGER,
    PRIMARY KEY (namespace, job)
) STRICT;

-- A check cannot be changed, so the table is written anew.
CREATE TEMPORARY TABLE freezes_before AS SELECT * FROM freezes;
DROP TABLE freezes;
CREATE TABLE freezes (
    namespace TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('all', 'label', 'queue', 'schedule')),
    value     TEXT NOT NULL,
    since     INTEGER NOT NULL,
    author    TEXT NOT NULL,
    source    TEXT NOT NULL,
    reason    TEXT,
    PRIMARY KEY (namespace, kind, value)
) STRICT;
INSERT INTO freezes SELECT * FROM freezes_before;
DROP TABLE freezes_before;
