-- Leases elsewhere: whose grant the ledger accepted last, since when and how often that changed; what nodes
-- report of themselves, and which of them are being drained.

ALTER TABLE epochs ADD COLUMN holder TEXT;
ALTER TABLE epochs ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
ALTER TABLE epochs ADD COLUMN lease_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE epochs ADD COLUMN since INTEGER;
ALTER TABLE epochs ADD COLUMN transitions INTEGER NOT NULL DEFAULT 0;

ALTER TABLE nodes ADD COLUMN report TEXT NOT NULL DEFAULT '{}';
ALTER TABLE nodes ADD COLUMN reported_at INTEGER;
ALTER TABLE nodes ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
