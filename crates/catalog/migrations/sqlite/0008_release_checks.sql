-- Releases become latest and live only after their new functions were loaded once. Releases from before count as passed.

-- none, passed, pending, failed or skipped
ALTER TABLE releases ADD COLUMN check_state TEXT NOT NULL DEFAULT 'none';
ALTER TABLE releases ADD COLUMN checked_at BIGINT;
-- What was found for each function, and which releases made room, as JSON.
ALTER TABLE releases ADD COLUMN check_report TEXT;
-- The reason that the pointers' moves get when the check passes.
ALTER TABLE releases ADD COLUMN check_why TEXT;
-- Which node checks it, and until when no other does, by the database's clock.
ALTER TABLE releases ADD COLUMN check_lease TEXT;
ALTER TABLE releases ADD COLUMN check_until BIGINT;
-- The release that live was pinned to when this one was made to take its place: the pin moves when the check passes.
ALTER TABLE releases ADD COLUMN pins_live BIGINT;
CREATE INDEX releases_pending ON releases (id) WHERE check_state = 'pending';
CREATE INDEX releases_held_back ON releases (app_id) WHERE check_state IN ('pending', 'failed');
