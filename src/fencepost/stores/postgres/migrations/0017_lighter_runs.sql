-- In a transaction of its own: to drop an index locks readers out, which must not last as long as building one.
DROP INDEX IF EXISTS fencepost.runs_by_time, fencepost.runs_running, fencepost.runs_dead, fencepost.runs_not_run,
    fencepost.runs_by_error;

-- The server reads and prepares a constraint anew for each statement that writes: four of them cost a single run more than
-- its row. `rules.checks` and the tests hold what they held.
ALTER TABLE fencepost.runs
    DROP CONSTRAINT IF EXISTS runs_state_check,
    DROP CONSTRAINT IF EXISTS runs_running_are_alive,
    DROP CONSTRAINT IF EXISTS runs_ended_are_finished,
    DROP CONSTRAINT IF EXISTS runs_fenced_were_started;
