-- Rollouts: a candidate takes over from the live release in steps.

-- Immutable divisions of callers over releases. The table of buckets is in the body.
CREATE TABLE splits (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    -- The split that it followed: going straight back to its weights restores its table.
    before_id BIGINT REFERENCES splits (id),
    body TEXT NOT NULL
);
CREATE INDEX splits_by_app ON splits (app_id);

CREATE TABLE rollouts (
    id INTEGER PRIMARY KEY,
    app_id BIGINT NOT NULL REFERENCES apps (id),
    name TEXT NOT NULL,
    base_id BIGINT NOT NULL REFERENCES releases (id),
    candidate_id BIGINT NOT NULL REFERENCES releases (id),
    -- The mode of live before it began, which a promotion restores: following or pinned.
    live_mode TEXT NOT NULL CONSTRAINT rollouts_live_mode CHECK (live_mode IN ('following', 'pinned')),
    -- 1 until it ends.
    open BIGINT NOT NULL CONSTRAINT rollouts_open CHECK (open IN (0, 1)),
    -- Its plan, state and weight, as JSON.
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    ended_at BIGINT,
    -- Which node judges it, and until when no other does, by the database's clock.
    lease TEXT,
    lease_until BIGINT,
    UNIQUE (app_id, name)
);
CREATE UNIQUE INDEX rollouts_open ON rollouts (app_id) WHERE open = 1;

-- What each node saw of a rollout, tick by tick.
CREATE TABLE rollout_ticks (
    id INTEGER PRIMARY KEY,
    rollout_id BIGINT NOT NULL REFERENCES rollouts (id),
    node TEXT NOT NULL,
    -- Counts up on its node.
    number BIGINT NOT NULL,
    step BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    -- The tick of the judge that it belongs to; none until the judge has seen it.
    closed BIGINT,
    -- Sets of buckets.
    seen BLOB NOT NULL,
    failed BLOB NOT NULL,
    timed BLOB NOT NULL,
    slow BLOB NOT NULL,
    -- Counts and latencies, as JSON.
    counts TEXT NOT NULL,
    UNIQUE (rollout_id, node, number)
);
CREATE INDEX rollout_ticks_by_closed ON rollout_ticks (rollout_id, closed);

-- What stands beside live while a rollout is open. Live itself stays the base.
ALTER TABLE apps ADD COLUMN live_split_id BIGINT REFERENCES splits (id);
ALTER TABLE pointer_moves ADD COLUMN from_split_id BIGINT REFERENCES splits (id);
ALTER TABLE pointer_moves ADD COLUMN to_split_id BIGINT REFERENCES splits (id);
