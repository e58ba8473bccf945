-- Each event's digest covers the one before. Events that an earlier program wrote have none.
ALTER TABLE events ADD COLUMN digest BLOB;
-- The digest of the newest event that has one, and its number.
ALTER TABLE apps ADD COLUMN head_digest BLOB;
ALTER TABLE apps ADD COLUMN head_digest_seq BIGINT NOT NULL DEFAULT 0;
-- A restore replaces it, so that servers compare what they know with the database.
INSERT INTO server_facts (name, value) VALUES ('incarnation', lower(hex(randomblob(16))));
