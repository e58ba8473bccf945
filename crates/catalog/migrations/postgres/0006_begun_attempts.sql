-- Attempts that only waited for an instance when their node died.

-- The attempt that an instance got, noted from the second on: a first one counts in any case.
ALTER TABLE executions ADD COLUMN begun BIGINT;
