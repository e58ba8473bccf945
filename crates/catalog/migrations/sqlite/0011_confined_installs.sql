-- 1 for an install that fetches only from hosts that tokens without administration may name. Those from before this fetch from any.
ALTER TABLE installs ADD COLUMN confined BIGINT NOT NULL DEFAULT 0;
