-- oldest program: 15
--
-- Schedules that skip an occurrence while the job of their last firing has not ended. The occurrence is recorded like a
-- firing, but has no job.
ALTER TYPE millrace.firing_kind ADD VALUE 'skipped';
ALTER TABLE millrace.cron_firings ALTER COLUMN job_id DROP NOT NULL;
ALTER TABLE millrace.crons
  ADD COLUMN skips boolean,                  -- null: firings may overlap
  ADD COLUMN last_job_id uuid;               -- of the last firing that had one
