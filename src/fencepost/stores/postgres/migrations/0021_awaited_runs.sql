-- Whoever waits for a run marks it, and is told when it ends.
ALTER TABLE fencepost.runs ADD COLUMN IF NOT EXISTS awaited boolean NOT NULL DEFAULT false;
