-- Cron schedules, and the record of what they fired.
--
-- A schedule is fired by a compare-and-swap on next_run_at: whoever moves it from one occurrence to the next enqueues the job, in the same
-- statement. No lock outlives a statement, so a scheduler that is stopped or killed blocks nobody. See docs/adr/0008-cron-firing.md.

CREATE TABLE millrace.crons (
  created_at timestamptz NOT NULL,
  next_run_at timestamptz,                  -- the occurrence to fire next; null after the last one
  last_enqueued_at timestamptz,
  fired bigint NOT NULL DEFAULT 0,          -- how many firings so far: the number of the newest record
  priority integer NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  expr text NOT NULL,                       -- as it was given
  task text NOT NULL,
  queue text COLLATE "C" NOT NULL,
  payload json NOT NULL,
  config json NOT NULL,                     -- as it was given, in stored field names
  job_config json,                          -- what it makes of a job; null: every default
  PRIMARY KEY (tenant, id),
  CHECK (next_run_at IS NOT NULL OR NOT enabled)
) WITH (fillfactor = 80);
-- The predicate keeps lookups by id away from it (see jobs_by_queue).
CREATE UNIQUE INDEX crons_by_name ON millrace.crons (tenant, name) WHERE name IS NOT NULL;
CREATE INDEX crons_by_next_run ON millrace.crons (next_run_at) WHERE enabled;

CREATE TYPE millrace.firing_kind AS ENUM ('on_time', 'catch_up');

-- The newest firings of each schedule, in a ring: firing number n stands in slot n modulo the size of the ring and takes the place of an
-- older one. Bounded by construction, with nothing to prune. No foreign key: to look up the schedule, locked a moment before by the same
-- statement, made up a tenth of a firing.
CREATE TABLE millrace.cron_firings (
  occurrence timestamptz NOT NULL,
  fired_at timestamptz NOT NULL,
  number bigint NOT NULL,
  slot smallint NOT NULL,
  kind millrace.firing_kind NOT NULL,
  job_id uuid NOT NULL,                     -- may be gone after retention
  cron_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, cron_id, slot)
) WITH (fillfactor = 80);
