-- Time zones, replacing by name, triggering, a longer record of firings, and lists in the order of what fires next.

ALTER TABLE millrace.crons
  ADD COLUMN timezone text NOT NULL DEFAULT 'UTC',  -- an IANA name, as it was given
  -- How often the schedule was replaced. Whoever computes an occurrence does so from an expression read before; what it
  -- then writes names the revision that it read, and has no effect on a later one.
  ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- What fires next comes first; what is paused or has ended comes last. The predicate keeps lookups by id
-- or name away from it.
CREATE INDEX crons_by_due ON millrace.crons
  (tenant, (CASE WHEN enabled THEN next_run_at ELSE 'infinity'::timestamptz END), id)
  WHERE created_at > '-infinity';

ALTER TYPE millrace.firing_kind ADD VALUE 'triggered';

-- The ring of firings has a thousand slots instead of a hundred. No two records meet on the way: those whose new slot
-- is below a hundred stay where they are.
UPDATE millrace.cron_firings SET slot = number % 1000 WHERE slot <> number % 1000;
