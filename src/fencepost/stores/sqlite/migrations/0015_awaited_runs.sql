-- Whoever waits for a run marks it, and is told when it ends.
ALTER TABLE runs ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;
