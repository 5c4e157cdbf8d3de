-- name: counts
-- How much of a tenant's there is in each state, on one :queue or on all (null), counted as far as :max_rows; and the
-- running totals, for what is beyond. Where the totals say that there is far more than :max_rows anyhow, :sample rows
-- are enough. What has ended is counted for all queues together only, and only where the totals say that it is not much
-- more. Workflows have no queue: they are counted on all.
WITH total AS MATERIALIZED (
  SELECT created, completed, failed, cancelled FROM millrace.totals WHERE tenant = :tenant
), reach AS MATERIALIZED (
  SELECT CASE WHEN created - completed - failed - cancelled > 2 * :max_rows::int THEN :sample::int
              ELSE :max_rows::int + 1 END AS waiting,
         CASE WHEN failed > 2 * :max_rows::int THEN :sample::int ELSE :max_rows::int + 1 END AS buried
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
    SELECT r.retry_count > 0 AS retrying, r.scheduled_at > now() AS later,
           :queue::text IS NULL OR r.queue = :queue AS counts
    FROM millrace.ready r WHERE r.tenant = :tenant LIMIT (SELECT waiting FROM reach)
  ) AS r
), running AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE :queue::text IS NULL OR j.queue = :queue) AS counts
  FROM (SELECT l.tenant, l.id FROM millrace.running l WHERE l.tenant = :tenant LIMIT :max_rows::int + 1) AS l, LATERAL (
    SELECT j.queue FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0
  ) AS j
), buried AS MATERIALIZED (
  SELECT count(*) AS n, count(*) FILTER (WHERE counts) AS counts
  FROM (
    SELECT :queue::text IS NULL OR l.queue = :queue AS counts
    FROM millrace.dead_letters l WHERE l.tenant = :tenant ORDER BY l.created_at DESC, l.id DESC
    LIMIT (SELECT buried FROM reach)
  ) AS l
), ended AS MATERIALIZED (
  SELECT status.status, (
    SELECT count(*) FROM (
      SELECT FROM millrace.done d
      WHERE d.tenant = :tenant AND d.status = status.status AND status.total <= 2 * :max_rows::int
        AND :queue::text IS NULL
      LIMIT :max_rows::int + 1
    ) AS d
  ) AS n
  FROM (
    SELECT 'completed'::millrace.job_status AS status, coalesce((SELECT completed FROM total), 0) AS total
    UNION ALL SELECT 'failed', coalesce((SELECT failed FROM total), 0)
    UNION ALL SELECT 'cancelled', coalesce((SELECT cancelled FROM total), 0)
  ) AS status
), past AS MATERIALIZED (
  SELECT sum(s.completed) AS completed, sum(s.failed) AS failed, sum(s.cancelled) AS cancelled
  FROM millrace.series s WHERE s.tenant = :tenant AND s.queue = :queue AND s.task = '' AND s.step = 3600
), flow AS (
  SELECT open.status, counted.n
  FROM unnest(ARRAY['created', 'running']::millrace.workflow_status[]) AS open (status), LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM millrace.workflow_runs r WHERE r.tenant = :tenant AND r.status = open.status LIMIT :max_rows::int + 1
    ) AS r
  ) AS counted
  UNION ALL
  SELECT ended.status, counted.n
  FROM unnest(ARRAY['completed', 'failed', 'partially_failed', 'cancelled']::millrace.workflow_status[])
    AS ended (status), LATERAL (
    SELECT count(*) AS n FROM (
      SELECT FROM millrace.workflow_ends e WHERE e.tenant = :tenant AND e.status = ended.status LIMIT :max_rows::int + 1
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
