-- Columns by plain names. This changes the catalogue only, whatever the size of the ledger. It is the one migration under
-- which older processes cannot go on.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM information_schema.columns
        WHERE table_schema = 'fencepost' AND table_name = 'runs' AND column_name = 'met'
    ) THEN
        ALTER TABLE fencepost.runs RENAME COLUMN met TO blocked_by;
        ALTER TABLE fencepost.runs RENAME COLUMN begun_at TO first_started_at;
        ALTER TABLE fencepost.runs RENAME COLUMN spent TO attempts_before_replay;
    END IF;
END $$;
