-- What went wrong in a function, as JSON. Executions from before this have only the text in `result`.
ALTER TABLE executions ADD COLUMN failure TEXT;
