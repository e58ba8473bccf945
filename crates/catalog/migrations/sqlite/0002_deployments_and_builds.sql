-- Folders that declare units, and what was built.

CREATE TABLE deployments (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    -- What decides whether two applies are of the same folder; the name is for people.
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (app_id, key)
);

-- The deployment that put the unit last; none for what no folder declares, and for units that were removed.
ALTER TABLE units ADD COLUMN deployment_id BIGINT REFERENCES deployments (id);
CREATE INDEX units_by_deployment ON units (deployment_id) WHERE deployment_id IS NOT NULL;

-- Builds that are over. A row holds its result and its log until it is swept.
CREATE TABLE builds (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    uid TEXT NOT NULL,
    -- The digest of source, environment and command.
    key BLOB NOT NULL,
    package TEXT NOT NULL,
    -- succeeded or failed
    state TEXT NOT NULL,
    source BLOB NOT NULL,
    command TEXT NOT NULL,
    deployment_blob_id BIGINT REFERENCES blobs (id),
    log_blob_id BIGINT REFERENCES blobs (id),
    reason TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    started_by TEXT NOT NULL,
    -- When a change or a build last asked for the result.
    used_at BIGINT NOT NULL,
    UNIQUE (app_id, uid)
);
CREATE INDEX builds_by_app ON builds (app_id, id);
CREATE INDEX builds_by_key ON builds (app_id, key) WHERE state = 'succeeded';
CREATE INDEX builds_by_deployment_blob ON builds (deployment_blob_id) WHERE deployment_blob_id IS NOT NULL;
CREATE INDEX builds_by_log_blob ON builds (log_blob_id) WHERE log_blob_id IS NOT NULL;
CREATE INDEX builds_by_age ON builds (used_at);
