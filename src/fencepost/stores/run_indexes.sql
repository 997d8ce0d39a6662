-- The indexes of runs that are alike in every SQL database.

-- Of one schedule: begun and unfinished, the last to finish, the last success.
CREATE INDEX runs_unfinished ON runs (namespace, schedule_id)
    WHERE schedule_id IS NOT NULL AND fence > 0 AND state IN ('ready', 'running');
CREATE INDEX runs_finished ON runs (namespace, schedule_id, finished_at)
    WHERE schedule_id IS NOT NULL AND fence > 0 AND finished_at IS NOT NULL;
CREATE INDEX runs_succeeded ON runs (namespace, schedule_id, fire_time)
    WHERE schedule_id IS NOT NULL AND state = 'succeeded';

-- For the reaper: few rows, whatever the size of the ledger. Not by `alive_until`, so that a heartbeat touches no index.
CREATE INDEX runs_running ON runs (worker) WHERE state = 'running';

-- For the janitor.
CREATE INDEX runs_ended ON runs (finished_at) WHERE finished_at IS NOT NULL AND NOT stripped;

-- Due without a judgement: all but ticks that were never started.
CREATE INDEX runs_due_direct ON runs (namespace, queue, priority, run_at)
    WHERE state IN ('planned', 'ready') AND (schedule_id IS NULL OR fence > 0) AND held = 0;

-- What a judgement reads of one schedule: live ticks that were never started, and caught-up runs that ended.
CREATE INDEX runs_open ON runs (namespace, schedule_id, fire_time)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0 AND origin IN ('live', 'manual');
CREATE INDEX runs_caught_up ON runs (namespace, schedule_id, finished_at)
    WHERE origin = 'catch_up' AND fence > 0 AND finished_at IS NOT NULL;

-- Limited jobs: runs in the line of their job, runs that wait for a slot, ticks among both, and slots in use.
CREATE INDEX runs_lined ON runs (namespace, job, queue, priority, run_at) WHERE held = 32;
CREATE INDEX runs_limited ON runs (namespace, job, slot, priority, run_at) WHERE held = 16;
CREATE INDEX runs_limited_ticks ON runs (namespace, schedule_id, fire_time)
    WHERE held IN (16, 32) AND schedule_id IS NOT NULL AND fence = 0;
CREATE INDEX runs_in_slots ON runs (namespace, job, slot) WHERE slot IS NOT NULL AND state = 'running';

-- What waits for a person, among the many that merely wait for their turn.
CREATE INDEX runs_dead ON runs (namespace, fire_time) WHERE state = 'dead';
CREATE INDEX runs_held_by_somebody ON runs (namespace) WHERE held & 7 <> 0;
