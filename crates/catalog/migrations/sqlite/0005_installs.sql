-- Apps that come from a channel.

CREATE TABLE installs (
    app_id BIGINT PRIMARY KEY REFERENCES apps (id),
    -- channel, pinned or bundle
    mode TEXT NOT NULL,
    package TEXT NOT NULL,
    channel TEXT,
    place TEXT NOT NULL,
    -- The version that is installed, as its channel had it then.
    entry TEXT NOT NULL,
    -- The app version that holds it.
    app_seq BIGINT NOT NULL,
    installed_at BIGINT NOT NULL,
    installed_by TEXT NOT NULL,
    settings TEXT NOT NULL,
    brakes TEXT NOT NULL,
    -- 1 when a rollback pinned live: the next upgrade takes live along again.
    rollback_pin BIGINT NOT NULL,
    -- The app version that live goes back to unless the installed one is found healthy; none when that is known. 0 when there
    -- is nothing to go back to.
    trial_seq BIGINT,
    -- The highest serial of a signed file that was seen.
    serial BIGINT NOT NULL,
    last_check TEXT,
    plan TEXT,
    -- Goes up with everything that people and upgrades change.
    revision BIGINT NOT NULL,
    -- When to look next; none when nothing does that by itself.
    next_check_at BIGINT,
    -- Who works on it, and until when nobody else does.
    lease TEXT,
    lease_until BIGINT
) WITHOUT ROWID;
CREATE INDEX installs_due ON installs (next_check_at) WHERE next_check_at IS NOT NULL;

-- Which published version the app versions from `app_seq` on hold, until the next row.
CREATE TABLE install_versions (
    app_id BIGINT NOT NULL REFERENCES apps (id),
    app_seq BIGINT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (app_id, app_seq)
) WITHOUT ROWID;
