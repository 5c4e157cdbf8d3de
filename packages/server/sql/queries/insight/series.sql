-- name: lock_series_names
-- New names are rare, and the number of them is bounded per tenant: one process adds some at a time.
SELECT pg_advisory_xact_lock(7883954128371540838);

-- name: name_series
-- Which of these pairs of queue and task have series of their own, after as many as there is room for (:max_names per
-- tenant) got them.
WITH given AS MATERIALIZED (
  SELECT DISTINCT tenant, queue, task
  FROM unnest(:tenants::text[], :queues::text[], :tasks::text[]) AS given (tenant, queue, task)
), known AS MATERIALIZED (
  SELECT g.tenant, g.queue, g.task
  FROM given g, LATERAL (
    SELECT FROM millrace.series_names n WHERE n.tenant = g.tenant AND n.queue = g.queue AND n.task = g.task OFFSET 0
  ) AS n
), fresh AS (
  SELECT g.tenant, g.queue, g.task, row_number() OVER (PARTITION BY g.tenant ORDER BY g.queue, g.task) AS n,
         (SELECT count(*) FROM millrace.series_names n WHERE n.tenant = g.tenant) AS taken
  FROM given g
  WHERE NOT EXISTS (SELECT FROM known k WHERE k.tenant = g.tenant AND k.queue = g.queue AND k.task = g.task)
), added AS (
  INSERT INTO millrace.series_names (tenant, queue, task)
  SELECT tenant, queue, task FROM fresh WHERE taken + n <= :max_names::int
  RETURNING tenant, queue, task
)
SELECT tenant, queue, task FROM known UNION ALL SELECT tenant, queue, task FROM added;

-- name: add_series
-- Adds what a process did in the last 15 seconds (:tenants to :runs, one element per series) to the steps it belongs
-- to. Counts by bucket come as texts of arrays. Rows are taken in the order of their key, so that processes that write
-- at the same moment wait for each other but never in a circle. The totals of tenants (:total_tenants to
-- :total_cancelled) go along.
WITH given AS MATERIALIZED (
  SELECT *
  FROM unnest(:tenants::text[], :queues::text[], :tasks::text[], :created::int[], :completed::int[], :failed::int[],
              :retried::int[], :cancelled::int[], :waits::text[], :runs::text[])
    AS given (tenant, queue, task, created, completed, failed, retried, cancelled, waits, runs)
), stepped AS (
  INSERT INTO millrace.series AS s
    (at, created, completed, failed, retried, cancelled, step, tenant, queue, task, waits, runs)
  SELECT to_timestamp(floor(extract(epoch FROM now() - interval '7.5 seconds') / step) * step), created, completed,
         failed, retried, cancelled, step, tenant, queue, task, waits::int[], runs::int[]
  FROM given, unnest(ARRAY[15, 300, 3600]) AS steps (step)
  ORDER BY tenant, queue, task, step
  ON CONFLICT (tenant, queue, task, step, at) DO UPDATE
  SET created = s.created + excluded.created, completed = s.completed + excluded.completed,
      failed = s.failed + excluded.failed, retried = s.retried + excluded.retried,
      cancelled = s.cancelled + excluded.cancelled,
      waits = millrace.add_counts(s.waits, excluded.waits), runs = millrace.add_counts(s.runs, excluded.runs)
)
INSERT INTO millrace.totals AS t (created, completed, failed, cancelled, tenant)
SELECT created, completed, failed, cancelled, tenant
FROM unnest(:total_tenants::text[], :total_created::int[], :total_completed::int[], :total_failed::int[],
            :total_cancelled::int[])
  AS total (tenant, created, completed, failed, cancelled)
ORDER BY tenant
ON CONFLICT (tenant) DO UPDATE
SET created = t.created + excluded.created, completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled;

-- name: ends_of_attempts
-- When attempts of jobs ended, by their place in the question. Of a job 20 are kept, so its own are looked through.
SELECT asked.n::int AS n, (extract(epoch FROM a.ended_at) * 1000)::float8 AS ended_ms
FROM unnest(:tenants::text[], :ids::uuid[], :numbers::int[]) WITH ORDINALITY AS asked (tenant, id, number, n),
LATERAL (
  SELECT a.ended_at FROM millrace.attempts a
  WHERE a.tenant = asked.tenant AND a.job_id = asked.id AND a.number = asked.number OFFSET 0
) AS a;

-- name: forget_series
-- Steps past their time (:step, kept for :keep_secs), at most :max_rows of them.
DELETE FROM millrace.series
WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM millrace.series s
  WHERE s.step = :step::int AND s.at < now() - :keep_secs::int * interval '1 second'
  ORDER BY s.at LIMIT :max_rows::int
));

-- name: forget_series_names
-- Names of which nothing is left, at most :max_names of them.
DELETE FROM millrace.series_names
WHERE ctid = ANY (ARRAY(
  SELECT n.ctid FROM millrace.series_names n
  WHERE NOT EXISTS (SELECT FROM millrace.series s WHERE s.tenant = n.tenant AND s.queue = n.queue AND s.task = n.task)
  LIMIT :max_names::int
));

-- name: series_of
-- The steps of a plot: the finest that is kept for as long as :since goes back. An empty :queue or :task means all.
-- A task over all queues has no series of its own: those of its queues come, to be added up. One row, with a list for
-- each column, because a month has 720 steps and a row for each costs more than what is in it.
WITH asked AS (
-- include: asked_span
), plot AS MATERIALIZED (
  SELECT step, until, to_timestamp(floor(extract(epoch FROM since) / step) * step) AS first
  FROM asked, LATERAL (
    SELECT CASE WHEN since >= now() - interval '3615 seconds' THEN 15
                WHEN since >= now() - interval '173100 seconds' THEN 300 ELSE 3600 END AS step
  ) AS chosen
)
SELECT extract(epoch FROM plot.first)::float8 AS first, plot.step, extract(epoch FROM plot.until)::float8 AS until,
       s.at, s.created, s.completed, s.failed, s.retried, s.waits, s.runs
FROM plot, LATERAL (
  SELECT array_agg(extract(epoch FROM s.at)::int8)::text AS at, array_agg(s.created)::text AS created,
         array_agg(s.completed)::text AS completed, array_agg(s.failed)::text AS failed,
         array_agg(s.retried)::text AS retried, string_agg(s.waits::text, ';') AS waits,
         string_agg(s.runs::text, ';') AS runs
  FROM millrace.series s
  WHERE s.tenant = :tenant AND s.task = :task AND s.step = plot.step AND s.at >= plot.first AND s.at < plot.until
    AND s.queue = ANY (CASE WHEN :queue <> '' OR :task = '' THEN ARRAY[:queue::text] ELSE ARRAY(
      SELECT n.queue FROM millrace.series_names n WHERE n.tenant = :tenant AND n.task = :task
    ) END)
) AS s;

-- name: ends_by_tenant
-- How many jobs ended, by tenant and step: of :queue, or of all queues if it is empty. The :max_tenants with the most
-- under their names, all others together under none. Steps of five minutes for two days, of an hour beyond. Of the
-- series of all tenants the newest :max_rows rows are looked at; if there are more, `counted_from` says from when on
-- the answer is whole.
WITH asked AS (
-- include: asked_span
), plot AS MATERIALIZED (
  SELECT step, until, to_timestamp(floor(extract(epoch FROM since) / step) * step) AS first
  FROM asked, LATERAL (
    SELECT CASE WHEN since >= now() - interval '173100 seconds' THEN 300 ELSE 3600 END AS step
  ) AS chosen
), walked AS MATERIALIZED (
  SELECT s.tenant, s.queue, s.task, s.at, s.completed + s.failed AS ended
  FROM plot, LATERAL (
    SELECT s.tenant, s.queue, s.task, s.at, s.completed, s.failed FROM millrace.series s
    WHERE s.step = plot.step AND s.at >= plot.first AND s.at < plot.until
    ORDER BY s.at DESC LIMIT :max_rows::int + 1
  ) AS s
), cut AS MATERIALIZED (
  -- The oldest step that was reached may have been reached in part.
  SELECT CASE WHEN count(*) > :max_rows::int THEN min(walked.at) + plot.step * interval '1 second' END AS at
  FROM plot LEFT JOIN walked ON true GROUP BY plot.step
), counted AS MATERIALIZED (
  SELECT walked.tenant, walked.at, walked.ended FROM walked, cut
  WHERE walked.queue = :queue AND walked.task = '' AND walked.ended > 0 AND (cut.at IS NULL OR walked.at >= cut.at)
), named AS MATERIALIZED (
  SELECT tenant FROM counted GROUP BY tenant ORDER BY sum(ended) DESC, tenant LIMIT :max_tenants::int
), summed AS (
  SELECT named.tenant, counted.at, sum(counted.ended)::float8 AS ended
  FROM counted LEFT JOIN named USING (tenant) GROUP BY named.tenant, counted.at
)
SELECT extract(epoch FROM plot.first)::float8 AS first, plot.step, extract(epoch FROM plot.until)::float8 AS until,
       extract(epoch FROM cut.at)::float8 AS counted_from,
       coalesce((SELECT json_agg(json_build_array(tenant, extract(epoch FROM at)::int8, ended)) FROM summed),
                '[]')::text AS ended
FROM plot, cut;

-- fragment: asked_span
-- From :since to :until, which is now if it is null; :since is an hour before it.
  SELECT least(coalesce(:until::timestamptz, now()), now()) AS until,
         greatest(coalesce(:since::timestamptz, coalesce(:until::timestamptz, now()) - interval '1 hour'),
                  now() - interval '60 days') AS since
