-- name: job_of_tenant
SELECT tenant, id, queue, task, payload, config, metadata, idempotency_key, workflow_id, step, context, status,
       created_at, scheduled_at, started_at, completed_at, retry_count, delivery_count, error, result, worker,
       lease_expires_at, progress
FROM millrace.job_records WHERE tenant = :tenant AND id = :id;

-- name: owner_of_job
-- Finds a job's owner by the id alone: to tell 403 from 404, and for a settlement that found no lease.
SELECT rec.tenant, rec.status
FROM millrace.tenants t,
LATERAL (SELECT r.tenant, r.status FROM millrace.job_records r WHERE r.tenant = t.tenant AND r.id = :id OFFSET 0) AS rec
WHERE t.bucket = :bucket;

-- name: names_of_jobs
SELECT j.id, j.task, j.queue
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id),
LATERAL (SELECT j.id, j.task, j.queue FROM millrace.jobs j WHERE j.tenant = asked.tenant AND j.id = asked.id OFFSET 0)
  AS j;

-- name: depths_of_all
-- For the gauges: all tenants together. The :named queues that hold most are named, the others added up under no name.
WITH depth AS MATERIALIZED (
  SELECT queue, status, sum(n)::int AS n, min(oldest) AS oldest
  FROM (
    SELECT r.queue,
           CASE WHEN r.retry_count > 0 THEN 'retrying' WHEN r.scheduled_at > now() THEN 'scheduled'
                ELSE 'pending' END AS status,
           count(*) AS n,
           min(millrace.due_since(r.id, r.scheduled_at)) FILTER (WHERE r.scheduled_at <= now()) AS oldest
    FROM millrace.ready r GROUP BY 1, 2
    UNION ALL
    SELECT j.queue, 'running', count(*), NULL
    FROM millrace.running l JOIN millrace.jobs j ON j.tenant = l.tenant AND j.id = l.id GROUP BY j.queue
  ) AS counted
  GROUP BY queue, status
), named AS MATERIALIZED (
  SELECT queue FROM depth GROUP BY queue ORDER BY sum(n) DESC, queue LIMIT :named::int
)
SELECT coalesce(named.queue, '') AS queue, depth.status, sum(depth.n)::int AS n,
       extract(epoch FROM now() - min(depth.oldest))::float8 AS oldest_age
FROM depth LEFT JOIN named ON named.queue = depth.queue
GROUP BY 1, 2;

-- name: count_dead_letters
SELECT count(*)::int AS n FROM millrace.dead_letters WHERE replayed_at IS NULL;
