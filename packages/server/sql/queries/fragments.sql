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
