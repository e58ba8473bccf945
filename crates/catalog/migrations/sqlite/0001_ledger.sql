-- The ledger. Times are milliseconds since 1970, flags 0 or 1, JSON is text, digests are 32 bytes.

CREATE TABLE apps (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    deleted_at BIGINT,
    -- The number of the newest app version, of the newest event.
    head_seq BIGINT NOT NULL,
    event_seq BIGINT NOT NULL,
    live_mode TEXT NOT NULL,
    live_release_id BIGINT,
    latest_release_id BIGINT
);
CREATE UNIQUE INDEX apps_by_name ON apps (name) WHERE deleted_at IS NULL;

-- What the versions of an app hold, once for equal content. Not shared between apps: a change would have to wait for the
-- changes of other apps that bring the same content, two of them in a circle if their orders differ.
CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    -- The value of a secret under the server's key.
    sealed BLOB,
    UNIQUE (app_id, digest)
);

CREATE TABLE units (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The highest number ever given: numbers are not reused.
    last_number BIGINT NOT NULL,
    -- The version that the app has now; none when the unit was removed.
    current_version_id BIGINT,
    UNIQUE (app_id, kind, name)
);

-- Rows stay for ever, so that numbers, uids and labels stay taken; a deleted version has no content.
CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    unit_id BIGINT NOT NULL REFERENCES units (id),
    number BIGINT NOT NULL,
    uid TEXT NOT NULL,
    label TEXT,
    digest BLOB NOT NULL,
    content_id BIGINT REFERENCES contents (id),
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    -- active, retired (its unit was removed) or deleted
    state TEXT NOT NULL,
    UNIQUE (unit_id, number)
);
CREATE UNIQUE INDEX versions_by_uid ON versions (unit_id, uid);
CREATE UNIQUE INDEX versions_by_label ON versions (unit_id, label) WHERE label IS NOT NULL;
CREATE INDEX versions_by_digest ON versions (unit_id, digest);
CREATE INDEX versions_by_app_uid ON versions (app_id, uid);
CREATE INDEX versions_by_app_label ON versions (app_id, label) WHERE label IS NOT NULL;
CREATE INDEX versions_by_content ON versions (content_id) WHERE content_id IS NOT NULL;
CREATE INDEX versions_retired ON versions (app_id) WHERE state = 'retired';

-- Exact versions that a version needs: its package, its environment, the function a trigger is pinned to.
CREATE TABLE version_pins (
    version_id BIGINT NOT NULL REFERENCES versions (id),
    role TEXT NOT NULL,
    target_id BIGINT NOT NULL REFERENCES versions (id),
    PRIMARY KEY (version_id, role)
) WITHOUT ROWID;
CREATE INDEX version_pins_by_target ON version_pins (target_id);

CREATE TABLE app_versions (
    app_id BIGINT NOT NULL REFERENCES apps (id),
    seq BIGINT NOT NULL,
    uid TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    message TEXT NOT NULL,
    git TEXT,
    PRIMARY KEY (app_id, seq),
    UNIQUE (app_id, uid)
) WITHOUT ROWID;

-- Which version of a unit the app versions from `from_seq` up to, not including, `until_seq` hold.
CREATE TABLE memberships (
    unit_id BIGINT NOT NULL REFERENCES units (id),
    from_seq BIGINT NOT NULL,
    until_seq BIGINT,
    version_id BIGINT NOT NULL REFERENCES versions (id),
    PRIMARY KEY (unit_id, from_seq)
) WITHOUT ROWID;
CREATE INDEX memberships_by_version ON memberships (version_id);

CREATE TABLE releases (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    name TEXT NOT NULL,
    app_seq BIGINT NOT NULL,
    -- active or expired
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expired_at BIGINT,
    UNIQUE (app_id, name),
    FOREIGN KEY (app_id, app_seq) REFERENCES app_versions (app_id, seq)
);
CREATE INDEX releases_active ON releases (app_id, id) WHERE state = 'active';
CREATE INDEX releases_by_app_version ON releases (app_id, app_seq);

CREATE TABLE tags (
    app_id BIGINT NOT NULL REFERENCES apps (id),
    name TEXT NOT NULL,
    release_id BIGINT NOT NULL REFERENCES releases (id),
    PRIMARY KEY (app_id, name)
) WITHOUT ROWID;
CREATE INDEX tags_by_release ON tags (release_id);

CREATE TABLE aliases (
    unit_id BIGINT NOT NULL REFERENCES units (id),
    name TEXT NOT NULL,
    version_id BIGINT NOT NULL REFERENCES versions (id),
    moved_at BIGINT NOT NULL,
    moved_by TEXT NOT NULL,
    PRIMARY KEY (unit_id, name)
) WITHOUT ROWID;
CREATE INDEX aliases_by_version ON aliases (version_id);

-- The history of aliases, tags, live and latest. `unit_id` is 0 for pointers to releases.
CREATE TABLE pointer_moves (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    kind TEXT NOT NULL,
    unit_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    from_id BIGINT,
    to_id BIGINT,
    -- forward or back
    step TEXT NOT NULL,
    moved_at BIGINT NOT NULL,
    moved_by TEXT NOT NULL,
    why TEXT NOT NULL
);
CREATE INDEX pointer_moves_by_pointer ON pointer_moves (app_id, kind, unit_id, name, id);

CREATE TABLE version_groups (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (app_id, name)
);
CREATE TABLE group_members (
    group_id BIGINT NOT NULL REFERENCES version_groups (id),
    version_id BIGINT NOT NULL REFERENCES versions (id),
    PRIMARY KEY (group_id, version_id)
) WITHOUT ROWID;
CREATE INDEX group_members_by_version ON group_members (version_id);

-- The audit log. `seq` is given under the lock of the app's row: per app it has no gaps and follows commit order.
CREATE TABLE events (
    app_id BIGINT NOT NULL REFERENCES apps (id),
    seq BIGINT NOT NULL,
    happened_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT,
    PRIMARY KEY (app_id, seq)
) WITHOUT ROWID;

CREATE TABLE idempotency (
    app_id BIGINT NOT NULL REFERENCES apps (id),
    idempotency_key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    outcome TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (app_id, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    hash BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL,
    -- 0: every app
    app_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL
);

-- Where bytes are. A pack is one stored object with many blobs; a tree's directory may be registered only after
-- everything in it, so a root that is here is complete.
CREATE TABLE packs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    size BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    size BIGINT NOT NULL,
    -- 1 for the directory of a tree
    is_directory BIGINT NOT NULL,
    pack_id BIGINT NOT NULL REFERENCES packs (id),
    pack_offset BIGINT NOT NULL,
    -- When somebody last sent it or asked for it: sweeping leaves the recent ones alone.
    touched_at BIGINT NOT NULL,
    -- The app that sent it first: its plan's bound on stored bytes counts it.
    app_id BIGINT NOT NULL REFERENCES apps (id)
);
CREATE INDEX blobs_by_app ON blobs (app_id, size);
CREATE INDEX blobs_by_pack ON blobs (pack_id);
CREATE INDEX blobs_by_age ON blobs (touched_at);
CREATE TABLE tree_edges (
    parent_id BIGINT NOT NULL REFERENCES blobs (id),
    child_id BIGINT NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (parent_id, child_id)
) WITHOUT ROWID;
CREATE INDEX tree_edges_by_child ON tree_edges (child_id);
CREATE TABLE content_blobs (
    content_id BIGINT NOT NULL REFERENCES contents (id),
    blob_id BIGINT NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (content_id, blob_id)
) WITHOUT ROWID;
CREATE INDEX content_blobs_by_blob ON content_blobs (blob_id);

-- What all servers over this database must agree on.
CREATE TABLE server_facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
