-- oldest program: 15
--
-- What operators set for whole queues (docs/adr/0038-queue-limits.md). One row per queue that has settings; its lock is
-- the gate that claims go through, one at a time. `tokens` and `refilled_at` are those of its rate; `waited`: a claim
-- found no room since.
CREATE TABLE millrace.queue_limits (
  set_at timestamptz NOT NULL,
  refilled_at timestamptz,
  tokens float8,
  running integer,                           -- how many jobs may run; null: any number
  rate_count integer,                        -- null: no rate
  rate_secs integer,
  rate_burst integer,
  waited boolean NOT NULL DEFAULT false,
  queue text COLLATE "C" NOT NULL PRIMARY KEY
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,
        autovacuum_vacuum_cost_delay = 0);

CREATE VIEW millrace.queue_settings AS
SELECT g.queue, json_build_object(
  'running', g.running,
  'rate', CASE WHEN g.rate_count IS NOT NULL THEN
    json_build_object('count', g.rate_count, 'per_secs', g.rate_secs, 'burst', g.rate_burst)
  END
) AS settings
FROM millrace.queue_limits g
WHERE g.running IS NOT NULL OR g.rate_count IS NOT NULL;
