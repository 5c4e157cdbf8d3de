-- Waiting for jobs to end, without writing anything down.

-- name: ends_of
-- Which of these jobs exist, and how those that have ended did.
SELECT j.id, d.status
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id),
LATERAL (SELECT j.id FROM millrace.jobs j WHERE j.tenant = asked.tenant AND j.id = asked.id OFFSET 0) AS j
LEFT JOIN LATERAL (
  SELECT d.status FROM unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS ending (status),
  LATERAL (
    SELECT d.status FROM millrace.done d
    WHERE d.tenant = asked.tenant AND d.status = ending.status AND d.id = asked.id OFFSET 0
  ) AS d
) AS d ON true;

-- name: ended_among
-- The same for all that wait in this process, once per second: only those that have ended.
SELECT d.id, d.status
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id),
unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS ending (status),
LATERAL (
  SELECT d.id, d.status FROM millrace.done d
  WHERE d.tenant = asked.tenant AND d.status = ending.status AND d.id = asked.id OFFSET 0
) AS d;

-- name: owned_among
-- Those of these ids that are jobs of anybody, by id and bucket: what tells 403 from a job that is missing.
SELECT j.id
FROM unnest(:ids::uuid[], :buckets::int[]) AS asked (id, bucket),
LATERAL (SELECT t.tenant FROM millrace.tenants t WHERE t.bucket = asked.bucket OFFSET 0) AS t,
LATERAL (SELECT j.id FROM millrace.jobs j WHERE j.tenant = t.tenant AND j.id = asked.id OFFSET 0) AS j;
