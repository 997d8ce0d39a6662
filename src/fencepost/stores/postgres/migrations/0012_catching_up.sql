-- What a judgement reads of one schedule among all that waits behind live work: what may start. It is without order, so
-- that the places of what has started are used again.

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_behind_due ON fencepost.runs (namespace, schedule_id)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND held = 0 AND priority = 5;
