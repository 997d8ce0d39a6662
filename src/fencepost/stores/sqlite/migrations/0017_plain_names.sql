-- Columns by plain names. Each is a change of the catalogue only, whatever the size of the ledger.
ALTER TABLE runs RENAME COLUMN met TO blocked_by;
ALTER TABLE runs RENAME COLUMN begun_at TO first_started_at;
ALTER TABLE runs RENAME COLUMN spent TO attempts_before_replay;
