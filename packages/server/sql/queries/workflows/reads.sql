-- name: workflow_of_tenant
SELECT tenant, id, name, definition, metadata, created_at, status, started_at, completed_at, state, context, unmerged
FROM millrace.workflow_records WHERE tenant = :tenant AND id = :id;

-- name: owner_of_workflow
SELECT w.tenant FROM millrace.tenants t,
LATERAL (SELECT w.tenant FROM millrace.workflows w WHERE w.tenant = t.tenant AND w.id = :id OFFSET 0) AS w
WHERE t.bucket = :bucket;

-- name: workflow_and_jobs
-- A workflow's state and the jobs of its steps in one snapshot, each as JobOfStep names its parts. The context is left
-- out: it may be long, and callers do not need it here.
SELECT w.tenant, w.id, w.definition, w.state, (
-- include: jobs_of_the_steps
) AS jobs, (
-- include: earlier_jobs_of_the_steps
) AS earlier
FROM millrace.workflow_records w WHERE w.tenant = :tenant AND w.id = :id;

-- name: workflow_and_all
-- The same with everything else that the record of a workflow shows: what an event stream sends.
SELECT w.tenant, w.id, w.name, w.definition, w.metadata, w.created_at, w.status, w.started_at, w.completed_at, w.state,
       w.context, w.unmerged, (
-- include: jobs_of_the_steps
) AS jobs, (
-- include: earlier_jobs_of_the_steps
) AS earlier
FROM millrace.workflow_records w WHERE w.tenant = :tenant AND w.id = :id;

-- name: marks_of
-- A digest of the state of each watched workflow and its unfinished steps: a different one means that something has
-- changed. What has ended is in the letters of the state. No step is ever in a bundle.
SELECT asked.id, md5(concat_ws(' ', run.status, run.state, run.started_at, (
  SELECT string_agg(concat_ws(' ', job.id, job.place, job.delivery_count, job.retry_count, job.scheduled_at), ','
                    ORDER BY job.id)
  FROM (SELECT j.id FROM millrace.jobs j WHERE j.workflow_id = asked.id AND j.step IS NOT NULL OFFSET 0) AS j,
  LATERAL (
    SELECT r.id, 'w' AS place, r.delivery_count, r.retry_count, r.scheduled_at FROM millrace.ready r
    WHERE r.tenant = asked.tenant AND r.id = j.id
    UNION ALL
    SELECT l.id, 'r', l.delivery_count, l.retry_count, NULL FROM millrace.leases l WHERE l.id = j.id
  ) AS job
))) AS mark
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id),
LATERAL (
  SELECT r.status, r.state, r.started_at FROM millrace.workflow_runs r WHERE r.tenant = asked.tenant AND r.id = asked.id
  UNION ALL
  SELECT e.status, e.state, e.started_at
  FROM unnest(ARRAY['completed', 'failed', 'partially_failed', 'cancelled']::millrace.workflow_status[])
       AS ending (status),
  LATERAL (
    SELECT e.status, e.state, e.started_at FROM millrace.workflow_ends e
    WHERE e.tenant = asked.tenant AND e.status = ending.status AND e.id = asked.id OFFSET 0
  ) AS e
) AS run;

-- fragment: jobs_of_the_steps
  SELECT json_agg(json_build_array(j.step, j.id, rec.status, rec.started_at::text, rec.completed_at::text,
                                   rec.delivery_count, left(rec.error, 2000),
                                   CASE WHEN rec.status = 'retrying' THEN rec.scheduled_at::text END))
  FROM (
    SELECT j.step, j.id, j.tenant FROM millrace.jobs j WHERE j.workflow_id = :id AND j.step IS NOT NULL OFFSET 0
  ) AS j,
  LATERAL (
    SELECT r.status, r.started_at, r.completed_at, r.delivery_count, r.error, r.scheduled_at
    FROM millrace.job_records r
    WHERE r.tenant = j.tenant AND r.id = j.id OFFSET 0
  ) AS rec

-- fragment: earlier_jobs_of_the_steps
  SELECT json_agg(json_build_array(e.step, e.job_id) ORDER BY e.run) FROM millrace.earlier_jobs e
  WHERE e.workflow_id = :id
