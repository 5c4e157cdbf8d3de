-- What happened over time, and how much there is (docs/adr/0020-series.md). Each process writes, every 15 seconds, what
-- it did in them; nothing is written while nothing happens.

-- One row per step of 15 seconds, 5 minutes and an hour. An empty queue means all queues, an empty task all tasks.
-- `waits` and `runs` count durations by bucket (domain/latency-buckets.ts): counts of several rows add up.
CREATE TABLE millrace.series (
  at timestamptz NOT NULL,
  created bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  retried bigint NOT NULL,
  cancelled bigint NOT NULL,
  step integer NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL,
  waits integer[] NOT NULL,
  runs integer[] NOT NULL,
  PRIMARY KEY (tenant, queue, task, step, at)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX series_by_age ON millrace.series (step, at);

-- Which pairs of queue and task have series of their own; the rest of a tenant's is under "other".
CREATE TABLE millrace.series_names (
  tenant text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, queue, task)
);

-- How many jobs of a tenant were ever created and how many are stored as ended: running totals, for estimates where
-- counting would take too long. Off by at most what killed processes had not written.
CREATE TABLE millrace.totals (
  created bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  tenant text COLLATE "C" PRIMARY KEY
) WITH (fillfactor = 50);

INSERT INTO millrace.totals (created, completed, failed, cancelled, tenant)
SELECT j.n, coalesce(d.completed, 0), coalesce(d.failed, 0), coalesce(d.cancelled, 0), j.tenant
FROM (SELECT tenant, count(*) AS n FROM millrace.jobs GROUP BY tenant) AS j
LEFT JOIN (
  SELECT tenant, count(*) FILTER (WHERE status = 'completed') AS completed,
         count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'cancelled') AS cancelled
  FROM millrace.done GROUP BY tenant
) AS d ON d.tenant = j.tenant;

-- Adds counts by bucket; the shorter one ends in zeros.
CREATE FUNCTION millrace.add_counts(a integer[], b integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(coalesce(x, 0) + coalesce(y, 0) ORDER BY n), '{}')
  FROM unnest(a, b) WITH ORDINALITY AS pair (x, y, n)
$$;
