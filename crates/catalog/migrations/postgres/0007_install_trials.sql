-- The last version that did not stay, why and when: what later checks find does not overwrite it.
ALTER TABLE installs ADD COLUMN failed TEXT;
-- What the author has as configuration, so that an override that goes brings it back. None for versions from before this.
ALTER TABLE install_versions ADD COLUMN config TEXT;
