-- Columns that hold one of a fixed set of words, or a number with a lower bound, accept nothing else. `words.rs` has the
-- same sets, and a test compares them. A word that is added later needs a migration that drops the constraint and adds it
-- again. `events.kind` has none: readers pass unknown kinds on, and each feature adds some.
-- SQLite adds the constraint to the schema after one scan of the table: nothing is copied or rebuilt.

ALTER TABLE apps ADD CONSTRAINT apps_plan CHECK (plan IN ('free', 'standard', 'unlimited'));
ALTER TABLE apps ADD CONSTRAINT apps_live_mode CHECK (live_mode IN ('following', 'pinned'));
ALTER TABLE apps ADD CONSTRAINT apps_head_seq CHECK (head_seq >= 0);
ALTER TABLE apps ADD CONSTRAINT apps_event_seq CHECK (event_seq >= 0);

ALTER TABLE contents ADD CONSTRAINT contents_kind CHECK (kind IN ('environment', 'secret', 'config', 'package', 'function', 'static', 'route', 'timer'));

ALTER TABLE units ADD CONSTRAINT units_kind CHECK (kind IN ('environment', 'secret', 'config', 'package', 'function', 'static', 'route', 'timer'));
ALTER TABLE units ADD CONSTRAINT units_last_number CHECK (last_number >= 0);

ALTER TABLE versions ADD CONSTRAINT versions_state CHECK (state IN ('active', 'retired', 'deleted'));
ALTER TABLE versions ADD CONSTRAINT versions_number CHECK (number >= 1);

ALTER TABLE version_pins ADD CONSTRAINT version_pins_role CHECK (role IN ('package', 'environment', 'target'));

ALTER TABLE app_versions ADD CONSTRAINT app_versions_seq CHECK (seq >= 1);

ALTER TABLE memberships ADD CONSTRAINT memberships_from_seq CHECK (from_seq >= 1);
ALTER TABLE memberships ADD CONSTRAINT memberships_until_seq CHECK (until_seq > from_seq);

ALTER TABLE releases ADD CONSTRAINT releases_state CHECK (state IN ('active', 'expired'));
ALTER TABLE releases ADD CONSTRAINT releases_check_state CHECK (check_state IN ('none', 'passed', 'pending', 'failed', 'skipped'));

ALTER TABLE pointer_moves ADD CONSTRAINT pointer_moves_kind CHECK (kind IN ('live', 'latest', 'tag', 'alias'));
ALTER TABLE pointer_moves ADD CONSTRAINT pointer_moves_step CHECK (step IN ('forward', 'back'));

ALTER TABLE events ADD CONSTRAINT events_seq CHECK (seq >= 1);

ALTER TABLE tokens ADD CONSTRAINT tokens_role CHECK (role IN ('reader', 'invoker', 'operator', 'deployer', 'admin'));
ALTER TABLE tokens ADD CONSTRAINT tokens_app_id CHECK (app_id >= 0);

ALTER TABLE packs ADD CONSTRAINT packs_size CHECK (size >= 0);

ALTER TABLE blobs ADD CONSTRAINT blobs_size CHECK (size >= 0);
ALTER TABLE blobs ADD CONSTRAINT blobs_is_directory CHECK (is_directory IN (0, 1));
ALTER TABLE blobs ADD CONSTRAINT blobs_pack_offset CHECK (pack_offset >= 0);

ALTER TABLE builds ADD CONSTRAINT builds_state CHECK (state IN ('succeeded', 'failed'));

ALTER TABLE nodes ADD CONSTRAINT nodes_keys_secrets CHECK (keys_secrets IN (0, 1));

ALTER TABLE executions ADD CONSTRAINT executions_status CHECK (status IN ('queued', 'running', 'success', 'failed', 'error', 'cancelled'));
ALTER TABLE executions ADD CONSTRAINT executions_cause CHECK (cause IN ('api', 'job', 'timer', 'webhook', 'v1'));
ALTER TABLE executions ADD CONSTRAINT executions_sync CHECK (sync IN (0, 1));
ALTER TABLE executions ADD CONSTRAINT executions_cancel CHECK (cancel IN (0, 1));
ALTER TABLE executions ADD CONSTRAINT executions_attempt CHECK (attempt >= 0);

ALTER TABLE execution_attempts ADD CONSTRAINT execution_attempts_ending CHECK (ending IN ('success', 'failed', 'error', 'cancelled', 'lost', 'unbegun', 'stopped'));
ALTER TABLE execution_attempts ADD CONSTRAINT execution_attempts_number CHECK (number >= 1);

ALTER TABLE jobs ADD CONSTRAINT jobs_state CHECK (state IN ('running', 'paused', 'cancelled', 'done'));
ALTER TABLE jobs ADD CONSTRAINT jobs_remaining CHECK (remaining >= 0);
ALTER TABLE jobs ADD CONSTRAINT jobs_fired CHECK (fired >= 0);

ALTER TABLE installs ADD CONSTRAINT installs_mode CHECK (mode IN ('channel', 'pinned', 'bundle'));
ALTER TABLE installs ADD CONSTRAINT installs_rollback_pin CHECK (rollback_pin IN (0, 1));
ALTER TABLE installs ADD CONSTRAINT installs_confined CHECK (confined IN (0, 1));
ALTER TABLE installs ADD CONSTRAINT installs_serial CHECK (serial >= 0);
ALTER TABLE installs ADD CONSTRAINT installs_trial_seq CHECK (trial_seq >= 0);

ALTER TABLE v1_ids ADD CONSTRAINT v1_ids_kind CHECK (kind IN ('function', 'environment'));
ALTER TABLE v1_ids ADD CONSTRAINT v1_ids_last_number CHECK (last_number >= 0);
ALTER TABLE v1_ids ADD CONSTRAINT v1_ids_executions CHECK (executions >= 0);

ALTER TABLE v1_versions ADD CONSTRAINT v1_versions_number CHECK (number >= 1);
ALTER TABLE v1_versions ADD CONSTRAINT v1_versions_executions CHECK (executions >= 0);
