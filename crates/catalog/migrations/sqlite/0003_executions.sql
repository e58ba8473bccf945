-- Executions, and what starts them by itself: jobs, the timers of live releases, webhooks. The names that v1 gives.

-- The servers that run executions, and when each was last heard of.
CREATE TABLE nodes (
    name TEXT PRIMARY KEY,
    beat_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE executions (
    -- A UUID of version 7, so ids are in the order of acceptance.
    id TEXT PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    -- The function.
    unit_id BIGINT NOT NULL REFERENCES units (id),
    -- Decided when it was accepted. None when a firing found no version: such a row is born ended.
    version_id BIGINT REFERENCES versions (id),
    selector TEXT NOT NULL,
    -- queued, running, success, failed, error or cancelled
    status TEXT NOT NULL,
    sync BIGINT NOT NULL,
    input TEXT,
    result TEXT,
    description TEXT NOT NULL,
    started_by TEXT NOT NULL,
    cause TEXT NOT NULL,
    cause_id TEXT,
    -- The tick of a job or timer.
    scheduled_at BIGINT,
    created_at BIGINT NOT NULL,
    -- When the first attempt began; `attempt_at` is the present one.
    started_at BIGINT,
    finished_at BIGINT,
    duration_ms BIGINT,
    -- 0 until a node takes it.
    attempt BIGINT NOT NULL,
    attempt_at BIGINT,
    node TEXT,
    -- 1 when somebody asked for the end of a running one.
    cancel BIGINT NOT NULL
);
CREATE INDEX executions_by_app ON executions (app_id, id);
CREATE INDEX executions_queued ON executions (app_id, id) WHERE status = 'queued';
CREATE INDEX executions_running ON executions (app_id, node) WHERE status = 'running';
CREATE INDEX executions_ended ON executions (app_id, finished_at, id) WHERE finished_at IS NOT NULL;
-- What a version is needed for.
CREATE INDEX executions_open ON executions (version_id) WHERE finished_at IS NULL;
-- A tick fires once.
CREATE UNIQUE INDEX executions_by_tick ON executions (app_id, cause, cause_id, scheduled_at) WHERE scheduled_at IS NOT NULL;

-- Attempts whose node died. The last attempt of an execution stands in its row.
CREATE TABLE execution_attempts (
    execution_id TEXT NOT NULL REFERENCES executions (id),
    number BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    node TEXT NOT NULL,
    ending TEXT NOT NULL,
    PRIMARY KEY (execution_id, number)
) WITHOUT ROWID;

CREATE TABLE execution_logs (
    execution_id TEXT PRIMARY KEY REFERENCES executions (id),
    log TEXT NOT NULL
);

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    name TEXT NOT NULL,
    unit_id BIGINT NOT NULL REFERENCES units (id),
    selector TEXT NOT NULL,
    -- None when each firing resolves the selector.
    version_id BIGINT REFERENCES versions (id),
    cron TEXT,
    zone TEXT NOT NULL,
    first_at BIGINT,
    remaining BIGINT,
    input TEXT,
    -- running, paused, cancelled or done
    state TEXT NOT NULL,
    -- None unless the job is running. Everything before it is settled.
    next_at BIGINT,
    fired BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX jobs_by_app ON jobs (app_id, id);
CREATE INDEX jobs_by_unit ON jobs (unit_id);
CREATE INDEX jobs_by_version ON jobs (version_id) WHERE version_id IS NOT NULL;
CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;

-- The timers of the live releases: whatever moves live brings these up to date in its transaction.
CREATE TABLE timers (
    -- The timer.
    unit_id BIGINT PRIMARY KEY REFERENCES units (id),
    app_id BIGINT NOT NULL REFERENCES apps (id),
    cron TEXT NOT NULL,
    zone TEXT NOT NULL,
    -- The function: followed by an alias, or the version that the release holds or that the timer is pinned to.
    function_id BIGINT NOT NULL REFERENCES units (id),
    alias TEXT,
    version_id BIGINT REFERENCES versions (id),
    selector TEXT NOT NULL,
    next_at BIGINT
) WITHOUT ROWID;
CREATE INDEX timers_by_app ON timers (app_id);
CREATE INDEX timers_due ON timers (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    unit_id BIGINT NOT NULL REFERENCES units (id),
    selector TEXT NOT NULL,
    -- None when each call resolves the selector.
    version_id BIGINT REFERENCES versions (id),
    description TEXT NOT NULL,
    -- The secret under the server's key.
    sealed BLOB,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX webhooks_by_app ON webhooks (app_id, id);
CREATE INDEX webhooks_by_unit ON webhooks (unit_id);
CREATE INDEX webhooks_by_version ON webhooks (version_id) WHERE version_id IS NOT NULL;

-- Functions and environments that v1 has seen. A unit that leaves the app loses its id: v1 knows things by their ids.
CREATE TABLE v1_ids (
    id TEXT PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    unit_id BIGINT NOT NULL UNIQUE REFERENCES units (id),
    kind TEXT NOT NULL,
    -- The highest number that was ever published: numbers are not given again.
    last_number BIGINT NOT NULL,
    -- Executions of the newest code.
    executions BIGINT NOT NULL,
    -- What v1 says about it beside what the ledger knows.
    facts TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT
);
CREATE INDEX v1_ids_by_app ON v1_ids (app_id, kind, id);

CREATE TABLE v1_versions (
    unit_id BIGINT NOT NULL REFERENCES units (id),
    number BIGINT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    version_id BIGINT NOT NULL UNIQUE REFERENCES versions (id),
    executions BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    PRIMARY KEY (unit_id, number)
);

-- What v1 says about aliases beside where they point.
CREATE TABLE v1_aliases (
    unit_id BIGINT NOT NULL REFERENCES units (id),
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    PRIMARY KEY (unit_id, name)
) WITHOUT ROWID;
