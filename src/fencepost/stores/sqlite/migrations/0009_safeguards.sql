-- Which incarnation of its ledger this is.

INSERT INTO meta (name, value) VALUES ('incarnation', '1-' || lower(hex(randomblob(8))));
