-- Indexes as every store has them: credentials by when they ended, and what waits behind live ticks.

DROP INDEX IF EXISTS fencepost.tokens_over;
CREATE INDEX IF NOT EXISTS tokens_expiring ON fencepost.tokens (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS tokens_revoked ON fencepost.tokens (revoked_at) WHERE revoked_at IS NOT NULL;
DROP INDEX IF EXISTS fencepost.sessions_over;
CREATE INDEX IF NOT EXISTS sessions_expiring ON fencepost.sessions (expires_at);
CREATE INDEX IF NOT EXISTS sessions_ended ON fencepost.sessions (ended_at) WHERE ended_at IS NOT NULL;
DROP INDEX IF EXISTS fencepost.runs_behind;

-- way: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_behind
    ON fencepost.runs (namespace, schedule_id, fire_time, run_at, held)
    WHERE state IN ('planned', 'ready') AND schedule_id IS NOT NULL AND fence = 0
        AND origin NOT IN ('live', 'manual');
