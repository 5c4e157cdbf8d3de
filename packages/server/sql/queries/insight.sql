-- name: lock_series_names
-- New names are rare, and the number of them is bounded per tenant: one process adds some at a time.
SELECT pg_advisory_xact_lock(7883954128371540838);

-- name: name_series
-- Which of these pairs of queue and task have series of their own, after as many as there is room for ($4 per tenant)
-- got them.
WITH given AS MATERIALIZED (
  SELECT DISTINCT tenant, queue, task FROM unnest($1::text[], $2::text[], $3::text[]) AS given (tenant, queue, task)
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
  SELECT tenant, queue, task FROM fresh WHERE taken + n <= $4::int
  RETURNING tenant, queue, task
)
SELECT tenant, queue, task FROM known UNION ALL SELECT tenant, queue, task FROM added;

-- name: add_series
-- Adds what a process did in the last 15 seconds ($1 to $10, one element per series) to the steps it belongs to. Counts
-- by bucket come as texts of arrays. Rows are taken in the order of their key, so that processes that write at the same
-- moment wait for each other but never in a circle. The totals of tenants ($11 to $15) go along.
WITH given AS MATERIALIZED (
  SELECT *
  FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::text[],
              $10::text[])
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
FROM unnest($11::text[], $12::int[], $13::int[], $14::int[], $15::int[])
  AS total (tenant, created, completed, failed, cancelled)
ORDER BY tenant
ON CONFLICT (tenant) DO UPDATE
SET created = t.created + excluded.created, completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled;

-- name: forget_series
-- Steps past their time ($1: step, $2: seconds to keep), at most $3 of them.
DELETE FROM millrace.series
WHERE ctid = ANY (ARRAY(
  SELECT s.ctid FROM millrace.series s
  WHERE s.step = $1::int AND s.at < now() - $2::int * interval '1 second'
  ORDER BY s.at LIMIT $3::int
));

-- name: forget_series_names
-- Names of which nothing is left, at most $1 of them.
DELETE FROM millrace.series_names
WHERE ctid = ANY (ARRAY(
  SELECT n.ctid FROM millrace.series_names n
  WHERE NOT EXISTS (SELECT FROM millrace.series s WHERE s.tenant = n.tenant AND s.queue = n.queue AND s.task = n.task)
  LIMIT $1::int
));

-- name: series_of
-- The steps of a plot: the finest that is kept for as long as $4 goes back. $2 and $3: queue and task; empty means all.
-- A task over all queues has no series of its own: those of its queues come, to be added up. One row, with a list for
-- each column, because a month has 720 steps and a row for each costs more than what is in it.
WITH asked AS (
  SELECT least(coalesce($5::timestamptz, now()), now()) AS until,
         greatest(coalesce($4::timestamptz, coalesce($5::timestamptz, now()) - interval '1 hour'),
                  now() - interval '60 days') AS since
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
  WHERE s.tenant = $1 AND s.task = $3 AND s.step = plot.step AND s.at >= plot.first AND s.at < plot.until
    AND s.queue = ANY (CASE WHEN $2 <> '' OR $3 = '' THEN ARRAY[$2::text] ELSE ARRAY(
      SELECT n.queue FROM millrace.series_names n WHERE n.tenant = $1 AND n.task = $3
    ) END)
) AS s;

-- name: counts
-- How much of a tenant's there is in each state, on one queue ($3) or on all (null), counted as far as $2 rows; and the
-- running totals, for what is beyond. Where the totals say that there is far more than $2 anyhow, $4 rows are sample
-- enough. What has ended is counted for all queues together only, and only where the totals say that it is not much
-- more. Workflows have no queue: they are counted on all.
WITH total AS MATERIALIZED (
  SELECT created, completed, failed, cancelled FROM millrace.totals WHERE tenant = $1
), reach AS MATERIALIZED (
  SELECT CASE WHEN created - completed - failed - cancelled > 2 * $2::int THEN $4::int ELSE $2::int + 1 END AS waiting,
         CASE WHEN failed > 2 * $2::int THEN $4::int ELSE $2::int + 1 END AS buried
  FROM (
    SELECT coalesce(sum(created), 0) AS created, coalesce(sum(completed), 0) AS completed,
           coalesce(sum(failed), 0) AS failed, coalesce(sum(cancelled), 0) AS cancelled
    FROM total
  ) AS known
), waiting AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE counts AND NOT retrying AND NOT later) AS pending,
         count(*) FILTER (WHERE counts AND NOT retrying AND later) AS scheduled,
         count(*) FILTER (WHERE counts AND retrying) AS retrying
  FROM (
    SELECT r.retry_count > 0 AS retrying, r.scheduled_at > now() AS later, $3::text IS NULL OR r.queue = $3 AS counts
    FROM millrace.ready r WHERE r.tenant = $1 LIMIT (SELECT waiting FROM reach)
  ) AS r
), running AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE $3::text IS NULL OR j.queue = $3) AS counts
  FROM (SELECT l.tenant, l.id FROM millrace.running l WHERE l.tenant = $1 LIMIT $2::int + 1) AS l, LATERAL (
    SELECT j.queue FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0
  ) AS j
), buried AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE counts) AS counts
  FROM (
    SELECT $3::text IS NULL OR l.queue = $3 AS counts
    FROM millrace.dead_letters l WHERE l.tenant = $1 ORDER BY l.created_at DESC, l.id DESC
    LIMIT (SELECT buried FROM reach)
  ) AS l
), ended AS MATERIALIZED (
  SELECT status.status, (
    SELECT count(*) FROM (
      SELECT FROM millrace.done d
      WHERE d.tenant = $1 AND d.status = status.status AND status.total <= 2 * $2::int AND $3::text IS NULL
      LIMIT $2::int + 1
    ) AS d
  ) AS n
  FROM (
    SELECT 'completed'::millrace.job_status AS status, coalesce((SELECT completed FROM total), 0) AS total
    UNION ALL SELECT 'failed', coalesce((SELECT failed FROM total), 0)
    UNION ALL SELECT 'cancelled', coalesce((SELECT cancelled FROM total), 0)
  ) AS status
), past AS MATERIALIZED (
  SELECT sum(s.completed) AS completed, sum(s.failed) AS failed, sum(s.cancelled) AS cancelled
  FROM millrace.series s WHERE s.tenant = $1 AND s.queue = $3 AND s.task = '' AND s.step = 3600
), flow AS (
  SELECT open.status, counted.n
  FROM unnest(ARRAY['created', 'running']::millrace.workflow_status[]) AS open (status), LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM millrace.workflow_runs r WHERE r.tenant = $1 AND r.status = open.status LIMIT $2::int + 1
    ) AS r
  ) AS counted
  UNION ALL
  SELECT ended.status, counted.n
  FROM unnest(ARRAY['completed', 'failed', 'partially_failed', 'cancelled']::millrace.workflow_status[])
    AS ended (status), LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM millrace.workflow_ends e WHERE e.tenant = $1 AND e.status = ended.status LIMIT $2::int + 1
    ) AS e
  ) AS counted
)
SELECT
  waiting.n::int AS waiting, waiting.n < reach.waiting AS waiting_is_whole, waiting.pending::int AS pending,
  waiting.scheduled::int AS scheduled, waiting.retrying::int AS retrying,
  running.counts::int AS running, running.n::int AS running_in_all,
  buried.counts::int AS dead_letters, buried.n::int AS dead_letters_in_all,
  buried.n < reach.buried AS dead_letters_are_whole,
  (SELECT n FROM ended WHERE status = 'completed')::int AS completed,
  (SELECT n FROM ended WHERE status = 'failed')::int AS failed,
  (SELECT n FROM ended WHERE status = 'cancelled')::int AS cancelled,
  (SELECT json_build_object('created', created, 'completed', completed, 'failed', failed, 'cancelled', cancelled)
   FROM total)::text AS totals,
  (SELECT json_build_object('completed', coalesce(completed, 0), 'failed', coalesce(failed, 0),
                            'cancelled', coalesce(cancelled, 0)) FROM past)::text AS past,
  (SELECT json_object_agg(status, n) FROM flow)::text AS workflows
FROM waiting, running, buried, reach;
