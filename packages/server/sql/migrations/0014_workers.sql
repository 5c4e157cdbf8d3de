-- What workers did (docs/operations.md). Each process notes it in memory and writes it along with the series.

-- One row per worker, tenant and queue for every five minutes in which it did something; kept for about an hour, and
-- for a thousand workers of a tenant at most.
CREATE TABLE millrace.workers (
  at timestamptz NOT NULL,                   -- when the five minutes began
  last_seen_at timestamptz NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  expired bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, at, worker, queue)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX workers_by_age ON millrace.workers (at);
