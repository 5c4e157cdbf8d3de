-- oldest program: 15
--
-- Limits by key (docs/adr/0033-limits.md). A job that names limits waits before the queue, not in it: its row in
-- `ready` has later = false, which neither of the indexes that claims walk contains. While it waits for room it names
-- the limit in whose line it is (waits_for); until it is due it sleeps, without one. Once it is admitted, its row is
-- like any other, and the job holds room at each of its limits until the attempt ends.
ALTER TABLE millrace.jobs ADD COLUMN limits uuid[];
ALTER TABLE millrace.ready ADD COLUMN limits uuid[];
ALTER TABLE millrace.ready ADD COLUMN waits_for uuid;
ALTER TABLE millrace.crons ADD COLUMN limits uuid[];

CREATE INDEX ready_in_line ON millrace.ready (waits_for, priority DESC, scheduled_at, id) WHERE waits_for IS NOT NULL;
CREATE INDEX ready_asleep ON millrace.ready (scheduled_at, id) WHERE NOT later AND waits_for IS NULL;
CREATE INDEX ready_admitted ON millrace.ready (id) WHERE limits IS NOT NULL AND later IS NOT FALSE;

-- One row per key that live jobs name. Whoever changes it, or lets jobs out of its line, holds its lock. `running`: how
-- many jobs hold room. `most`: how many may, by the job `newest`. `waiting`: somebody is in its line. Its id is made of
-- tenant, queue and key (domain/limits.ts).
CREATE TABLE millrace.limits (
  running integer NOT NULL DEFAULT 0,
  most integer NOT NULL,
  waiting boolean NOT NULL DEFAULT false,
  id uuid NOT NULL PRIMARY KEY,
  newest uuid,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limits_by_name ON millrace.limits (tenant, queue, key) WHERE key IS NOT NULL;

-- Notes for whoever holds a limit next: so much room was given back while somebody else had it locked, or this job has
-- joined its line, or there is room again. A note is part of the transaction that it tells of, so no crash loses it.
CREATE TABLE millrace.limit_notes (
  given_back integer NOT NULL,
  limit_id uuid NOT NULL,
  job_id uuid,
  tenant text COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limit_notes_by_limit ON millrace.limit_notes (limit_id);

-- The mark of a job with limits in its id (domain/ids.ts), for statements that make jobs of stored ones.
CREATE FUNCTION millrace.marked_suffix(suffix text, limits uuid[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN limits IS NULL THEN suffix ELSE '9' || substr(suffix, 2) END
$$;
