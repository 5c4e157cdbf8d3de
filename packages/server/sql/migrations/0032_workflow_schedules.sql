-- oldest program: 15
--
-- Schedules that start workflows: `workflow` is what is started, and there is no task.
ALTER TABLE millrace.crons ALTER COLUMN task DROP NOT NULL;
ALTER TABLE millrace.crons ALTER COLUMN queue DROP NOT NULL;
ALTER TABLE millrace.crons
  ADD COLUMN workflow json,                  -- means nothing beside a task
  ADD COLUMN last_workflow_id uuid;          -- of the last firing, if it started one
ALTER TABLE millrace.cron_firings ADD COLUMN workflow_id uuid;
