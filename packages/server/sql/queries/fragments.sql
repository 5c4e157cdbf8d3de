-- What statements of several owners have in common: fragments alone. Those of one file stand in it.

-- fragment: join_line
-- Waiting jobs that were taken out of `ready` (gone) are due now. Each that names limits joins the line of its first.
  RETURNING r.started_at, r.priority, r.retry_count, r.delivery_count, r.id, r.tenant, r.queue, r.workflow_id, r.error,
            r.size, r.limits, r.expires_at
), moved AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, later, size, limits, waits_for, expires_at)
  SELECT now(), started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error,
         CASE WHEN cardinality(limits) > 0 THEN false END, size, limits, limits[1], expires_at
  FROM gone
  RETURNING queue, priority, scheduled_at, waits_for
), noted AS (
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 0, limits[1], id, tenant FROM gone WHERE cardinality(limits) > 0

-- fragment: tell_watchers
-- Whoever follows one of them hears that it is due.
), seen AS (
  INSERT INTO millrace.transitions (at, scheduled_at, started_at, retry_count, delivery_count, status, job_id, error)
  SELECT now(), now(), started_at, retry_count, delivery_count,
         CASE WHEN retry_count > 0 THEN 'retrying' ELSE 'pending' END::millrace.job_status, id, error
  FROM gone WHERE EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = gone.id OFFSET 0)
  RETURNING 1

-- fragment: let_in_heads
-- The first in the lines of limits take room that there is: as many of each line as `open` says (id, n). One that needs
-- another limit as well is not `alone`, and stays. One that somebody else has locked is passed over.
), head AS MATERIALIZED (
  SELECT open.id, first.at, cardinality(first.limits) = 1 AS alone FROM open, LATERAL (
    SELECT r.ctid AS at, r.limits FROM millrace.ready r
    WHERE r.waits_for = open.id ORDER BY r.priority DESC, r.scheduled_at, r.id LIMIT open.n
    FOR UPDATE SKIP LOCKED
  ) AS first
), let_in AS (
  UPDATE millrace.ready r SET later = NULL, waits_for = NULL
  WHERE r.ctid = ANY (ARRAY(SELECT at FROM head WHERE alone))
  RETURNING r.scheduled_at, r.priority, r.queue
), taken AS MATERIALIZED (
  SELECT id, count(*) FILTER (WHERE alone)::int AS n, bool_and(alone) AS all_alone FROM head GROUP BY id

-- fragment: admitted_in_json
  (SELECT json_agg(json_build_array(of_queue.queue, of_queue.priority, of_queue.n, of_queue.since)) FROM (
     SELECT queue, priority, count(*)::int AS n, (extract(epoch FROM min(scheduled_at)) * 1000)::float8 AS since
     FROM let_in GROUP BY queue, priority
   ) AS of_queue)::text
