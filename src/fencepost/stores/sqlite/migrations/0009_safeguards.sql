-- Which incarnation of its ledger this is.

INSERT INTO meta (name, value) VALUES ('incarnation', '1-' || lower(hex(randomblob(8))));

-- A lease carries the term that it was last granted or renewed for: an expiry further ahead is from the future, because the
-- clock was set back. How far it was set back is kept by the grant or renewal that found out.
ALTER TABLE leases ADD COLUMN ttl_us INTEGER;
ALTER TABLE leases ADD COLUMN set_back_us INTEGER NOT NULL DEFAULT 0;
