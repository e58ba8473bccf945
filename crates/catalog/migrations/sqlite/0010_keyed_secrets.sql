-- Versions of secrets whose digest is bound to app and name, and what it was before, which still names them. A version of
-- a secret without a row is from before this, and waits to be re-keyed.
CREATE TABLE keyed_secrets (
    version_id BIGINT PRIMARY KEY REFERENCES versions (id),
    unit_id BIGINT NOT NULL,
    former_digest BLOB
);
CREATE INDEX keyed_secrets_by_former ON keyed_secrets (unit_id, former_digest) WHERE former_digest IS NOT NULL;
CREATE INDEX units_of_secrets ON units (id) WHERE kind = 'secret';
-- 1 for a node whose program makes such digests.
ALTER TABLE nodes ADD COLUMN keys_secrets BIGINT NOT NULL DEFAULT 0;
