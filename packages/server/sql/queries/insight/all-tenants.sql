-- What operators see: all tenants together. Every count stops at a bound.

-- name: overview_of_all
-- All but what waits and runs. Dead letters, workflows and what has ended are counted up to :max_rows, beyond which the
-- running totals say more; tenants up to :max_tenants. What has ended is looked at without regard to tenants, hence in
-- no order.
WITH buried AS MATERIALIZED (
  SELECT count(*) AS n FROM (SELECT FROM millrace.dead_letters LIMIT :max_rows::int + 1) AS l
), ended AS MATERIALIZED (
  SELECT status, count(*) AS n FROM (SELECT d.status FROM millrace.done d LIMIT :max_rows::int + 1) AS d GROUP BY status
), flow AS MATERIALIZED (
  SELECT status, count(*) AS n FROM (
    (SELECT r.status FROM millrace.workflow_runs r LIMIT :max_rows::int + 1)
    UNION ALL
    (SELECT e.status FROM millrace.workflow_ends e LIMIT :max_rows::int + 1)
  ) AS w
  GROUP BY status
), total AS MATERIALIZED (
  SELECT coalesce(sum(created), 0) AS created, coalesce(sum(completed), 0) AS completed,
         coalesce(sum(failed), 0) AS failed, coalesce(sum(cancelled), 0) AS cancelled
  FROM (SELECT t.created, t.completed, t.failed, t.cancelled FROM millrace.totals t LIMIT :max_tenants::int) AS t
)
SELECT (SELECT count(*) FROM (SELECT FROM millrace.tenants LIMIT :max_tenants::int) AS t)::int AS tenants,
  (SELECT n FROM buried)::int AS dead_letters,
  (SELECT coalesce(json_object_agg(status, n), '{}') FROM ended)::text AS ended,
  (SELECT coalesce(json_object_agg(status, n), '{}') FROM flow)::text AS workflows,
  (SELECT row_to_json(total) FROM total)::text AS totals;

-- name: paused_queues
SELECT q.queue FROM millrace.queues q WHERE q.paused_at IS NOT NULL ORDER BY q.queue LIMIT :max_queues::int;

-- name: oldest_past_retention
-- How far the oldest finished job is past its retention (:hours), in seconds; null if none is. Retention removes in the
-- order of ids, so the first few of each tenant and ending show it, for the first :max_tenants. A job of a workflow
-- stays as long as the workflow.
SELECT max(extract(epoch FROM cut.at - first.completed_at))::float8 AS secs
FROM (
  SELECT at, millrace.first_id(at) AS first_id FROM (SELECT now() - :hours::float8 * interval '1 hour' AS at) AS instant
) AS cut,
(SELECT t.tenant FROM millrace.tenants t ORDER BY t.tenant LIMIT :max_tenants::int) AS slice,
unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS ending (status),
LATERAL (
  SELECT d.tenant, d.id, d.completed_at FROM millrace.done d
  WHERE d.tenant = slice.tenant AND d.status = ending.status AND d.id < cut.first_id
  ORDER BY d.id LIMIT 20
) AS first,
LATERAL (
  SELECT FROM millrace.jobs j
  WHERE j.tenant = first.tenant AND j.id = first.id AND j.workflow_id IS NULL OFFSET 0
) AS plain
WHERE first.completed_at < cut.at;

-- name: depths_by_queue_of_all
-- One walk over all that waits and runs, for the overview and for the list of queues. The first row has no name: it is
-- all queues together. After it come queues that hold unfinished jobs or are paused, by name, :max_queues of them:
-- those that are paused and those that hold most. Each with the :max_tenants tenants that hold most of it.
-- Looks at :max_rows + 1 waiting and as many running jobs: the caller sees whether there are more than :max_rows. Most
-- of the time goes into finding each row's group, so each row is grouped once; counts cost little beside it. There may
-- be as many groups as rows: sums of them are kept to integers, because those of larger numbers are numeric.
WITH depth AS MATERIALIZED (
  SELECT queue, tenant, sum(waiting)::int AS waiting, sum(scheduled)::int AS scheduled,
         sum(retrying)::int AS retrying, sum(retrying_later)::int AS retrying_later, sum(running)::int AS running,
         min(oldest) AS oldest, sum(waiting + running)::int AS n
  FROM (
    SELECT r.queue, r.tenant, count(*)::int AS waiting,
           count(*) FILTER (WHERE r.scheduled_at > now())::int AS scheduled,
           count(*) FILTER (WHERE r.retry_count > 0)::int AS retrying,
           count(*) FILTER (WHERE r.retry_count > 0 AND r.scheduled_at > now())::int AS retrying_later,
           0 AS running, min(millrace.due_since(r.id, r.scheduled_at)) FILTER (WHERE r.scheduled_at <= now()) AS oldest
    FROM (
      SELECT r.id, r.queue, r.tenant, r.scheduled_at, r.retry_count FROM millrace.ready r LIMIT :max_rows::int + 1
    ) AS r
    GROUP BY r.queue, r.tenant
    UNION ALL
    SELECT coalesce(l.queue, j.queue), l.tenant, 0, 0, 0, 0, 1, NULL
    FROM (SELECT l.tenant, l.id, l.queue FROM millrace.leases l LIMIT :max_rows::int + 1) AS l
    LEFT JOIN LATERAL (
      SELECT j.queue FROM millrace.jobs j
      WHERE l.queue IS NULL AND j.tenant = l.tenant AND j.id = l.id OFFSET 0
    ) AS j ON true
    UNION ALL
    SELECT b.queue, b.tenant, 0, 0, 0, 0, length(translate(b.open::text, '0', '')), NULL
    FROM (SELECT b.queue, b.tenant, b.open FROM millrace.bundles b LIMIT :max_rows::int + 1) AS b
    WHERE position('1' IN b.open::text) > 0
  ) AS each
  GROUP BY queue, tenant HAVING sum(waiting + running) > 0
), whole AS MATERIALIZED (
  SELECT queue, sum(waiting) AS waiting, sum(scheduled) AS scheduled, sum(retrying) AS retrying,
         sum(retrying_later) AS retrying_later, sum(running) AS running, min(oldest) AS oldest, sum(n) AS n
  FROM depth GROUP BY queue
), named AS MATERIALIZED (
  SELECT coalesce(whole.queue, paused.queue) AS queue, whole.waiting, whole.scheduled, whole.retrying,
         whole.retrying_later, whole.running, whole.oldest
  FROM whole
  FULL JOIN (SELECT q.queue FROM millrace.queues q WHERE q.paused_at IS NOT NULL) AS paused USING (queue)
  ORDER BY paused.queue IS NULL, whole.n DESC NULLS LAST, 1
  LIMIT :max_queues::int
), shown AS MATERIALIZED (
  SELECT queue, json_agg(json_build_object('tenant_id', tenant, 'pending', waiting - scheduled,
                                           'scheduled', scheduled, 'retrying', retrying,
                                           'retrying_later', retrying_later, 'running', running)
                         ORDER BY place) AS tenants
  FROM (
    SELECT depth.*, row_number() OVER (PARTITION BY queue ORDER BY n DESC, tenant) AS place
    FROM depth WHERE queue IN (SELECT queue FROM named)
  ) AS ranked
  WHERE place <= :max_tenants::int GROUP BY queue
), listed AS (
  SELECT NULL AS queue, count(*) AS queues, sum(waiting) AS waiting, sum(scheduled) AS scheduled,
         sum(retrying) AS retrying, sum(retrying_later) AS retrying_later, sum(running) AS running,
         min(oldest) AS oldest
  FROM whole
  UNION ALL
  SELECT queue, 1, waiting, scheduled, retrying, retrying_later, running, oldest FROM named
)
SELECT listed.queue, listed.queues::int AS queues, coalesce(listed.waiting - listed.scheduled, 0)::int AS pending,
       coalesce(listed.scheduled, 0)::int AS scheduled, coalesce(listed.running, 0)::int AS running,
       trunc(extract(epoch FROM now() - listed.oldest))::float8 AS oldest_pending_age_secs,
       coalesce(listed.retrying, 0)::int AS retrying, coalesce(listed.retrying_later, 0)::int AS retrying_later,
       q.paused_at, q.paused_reason, q.paused_by, q.last_lease_at,
       (SELECT s.settings FROM millrace.queue_settings s WHERE s.queue = listed.queue)::text AS settings, now() AS now,
       coalesce(shown.tenants, '[]')::text AS tenants
FROM listed LEFT JOIN shown ON shown.queue = listed.queue LEFT JOIN millrace.queue_marks q ON q.queue = listed.queue
ORDER BY listed.queue NULLS FIRST;

-- name: tenants_of_all
-- A page of :max_tenants after the tenant :after, in the order of their names. Of each, up to :max_waiting jobs are
-- counted; of all, up to :max_running. In the order of ids, because a plan without an order reads the whole table for
-- each tenant.
WITH page AS MATERIALIZED (
  SELECT t.tenant FROM millrace.tenants t WHERE t.tenant > :after ORDER BY t.tenant LIMIT :max_tenants::int
), held AS MATERIALIZED (
  SELECT tenant, sum(n) AS n
  FROM (
    SELECT l.tenant, 1 AS n FROM (SELECT l.tenant FROM millrace.leases l LIMIT :max_running::int) AS l
    UNION ALL
    SELECT b.tenant, length(translate(b.open::text, '0', ''))
    FROM (SELECT b.tenant, b.open FROM millrace.bundles b LIMIT :max_running::int) AS b
    WHERE position('1' IN b.open::text) > 0
  ) AS each
  GROUP BY tenant
)
SELECT page.tenant AS tenant_id, waiting.pending::int AS pending, waiting.scheduled::int AS scheduled,
       waiting.retrying::int AS retrying, waiting.retrying_later::int AS retrying_later,
       coalesce(held.n, 0)::int AS running
FROM page CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE r.scheduled_at <= now()) AS pending,
         count(*) FILTER (WHERE r.scheduled_at > now()) AS scheduled,
         count(*) FILTER (WHERE r.retry_count > 0) AS retrying,
         count(*) FILTER (WHERE r.retry_count > 0 AND r.scheduled_at > now()) AS retrying_later
  FROM (
    SELECT r.scheduled_at, r.retry_count FROM millrace.ready r
    WHERE r.tenant = page.tenant ORDER BY r.id LIMIT :max_waiting::int
  ) AS r
) AS waiting LEFT JOIN held ON held.tenant = page.tenant
ORDER BY page.tenant;
