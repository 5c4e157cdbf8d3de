-- name: statuses_of
-- The state of jobs known only by their ids: for reports that found no lease. Ids that name no job are left out.
SELECT asked.id, rec.status
FROM unnest(:ids::uuid[], :buckets::int[]) AS asked (id, bucket),
LATERAL (SELECT t.tenant FROM millrace.tenants t WHERE t.bucket = asked.bucket OFFSET 0) AS t,
LATERAL (SELECT r.status FROM millrace.job_records r WHERE r.tenant = t.tenant AND r.id = asked.id OFFSET 0) AS rec;

-- name: queues_of
-- The queues of jobs known only by their ids: for worker tokens that are limited to some queues. Ids that name no job
-- are left out.
SELECT asked.id, j.queue
FROM unnest(:ids::uuid[], :buckets::int[]) AS asked (id, bucket),
LATERAL (SELECT t.tenant FROM millrace.tenants t WHERE t.bucket = asked.bucket OFFSET 0) AS t,
LATERAL (SELECT j.queue FROM millrace.jobs j WHERE j.tenant = t.tenant AND j.id = asked.id OFFSET 0) AS j;
