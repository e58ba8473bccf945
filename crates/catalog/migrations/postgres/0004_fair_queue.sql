-- Executions that found every instance busy, jobs that have ended, and lists that are narrowed.

-- Not to be claimed before this moment: every instance of its function was busy.
ALTER TABLE executions ADD COLUMN not_before BIGINT;

-- When a job was done or cancelled.
ALTER TABLE jobs ADD COLUMN ended_at BIGINT;
UPDATE jobs SET ended_at = COALESCE(updated_at, created_at) WHERE state IN ('done', 'cancelled');
CREATE INDEX jobs_ended ON jobs (app_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_by_name ON jobs (app_id, name) WHERE name <> '';

-- Lists are newest first, so each way to narrow one ends with the id.
CREATE INDEX executions_by_unit ON executions (unit_id, id);
CREATE INDEX executions_by_version ON executions (version_id, id);
CREATE INDEX executions_by_cause ON executions (app_id, cause, id);
CREATE INDEX executions_by_cause_id ON executions (app_id, cause, cause_id, id) WHERE cause_id IS NOT NULL;
CREATE INDEX executions_running_by_id ON executions (app_id, id) WHERE status = 'running';
CREATE INDEX executions_by_end ON executions (app_id, status, id) WHERE finished_at IS NOT NULL;
