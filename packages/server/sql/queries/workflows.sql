-- name: create_workflows
-- Creates workflows and the jobs of their first steps. A job names its workflow by the workflow's position in the first
-- list. If a version is given, the context is stored apart and the jobs name that version.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), flow AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, given.*
  FROM clock, unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::json[], $6::json[], $7::text[], $8::int[],
                     $9::int[])
    WITH ORDINALITY AS given (suffix, tenant, name, definition, context, metadata, state, version, context_bytes, n)
), stored AS (
  INSERT INTO millrace.workflows (created_at, id, tenant, name, definition, metadata)
  SELECT now, id, tenant, name, definition, metadata FROM flow
), begun AS (
  INSERT INTO millrace.workflow_runs (status, id, tenant, state, context, version, context_bytes)
  SELECT 'created', id, tenant, state, CASE WHEN version IS NULL THEN context END, version, context_bytes FROM flow
), contexts AS (
  INSERT INTO millrace.workflow_contexts (workflow_id, version, context)
  SELECT id, version, context FROM flow WHERE version IS NOT NULL
), root AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, flow.id AS workflow_id, flow.tenant,
         given.queue, given.task, given.priority, given.payload, given.config, given.metadata, given.step,
         given.context, given.context_bytes
  FROM clock, unnest($10::int[], $11::text[], $12::text[], $13::text[], $14::int[], $15::json[], $16::json[],
                     $17::json[], $18::text[], $19::int[], $20::int[])
    AS given (n, suffix, queue, task, priority, payload, config, metadata, step, context, context_bytes)
  JOIN flow ON flow.n = given.n
), jobs AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, workflow_id,
                             step, context, context_bytes)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step, context, context_bytes
  FROM root
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, size)
  SELECT now, priority, 0, 0, id, tenant, queue, workflow_id,
         millrace.job_size(payload, metadata, NULL, context_bytes)
  FROM root
)
SELECT prefix FROM clock;

-- name: mark_started
-- For readers of the API: a workflow is running once one of its steps has been claimed. A locked workflow is skipped: a
-- claim never waits for a workflow, and the transaction that holds the lock marks it too.
UPDATE millrace.workflow_runs r
SET status = 'running', started_at = now()
WHERE r.ctid = ANY (ARRAY(
    SELECT w.place FROM unnest($1::text[], $2::uuid[]) AS claimed (tenant, id),
    LATERAL (SELECT r.ctid AS place FROM millrace.workflow_runs r
             WHERE r.tenant = claimed.tenant AND r.id = claimed.id AND r.status = 'created'
             FOR NO KEY UPDATE SKIP LOCKED) AS w
  )) AND r.status = 'created';

-- name: lock_runs_of_leases
-- Before the job of a step ends, its workflow is locked, so that a second transaction sees what the first one did.
-- Locks are taken in order of id, so that batches that share workflows queue up and cannot deadlock. Returns one row
-- per workflow, however many of its steps end. A long context is read only when it is needed (contexts_of): most steps
-- that end before a wide fan-in do not need it.
SELECT held.job_ids, held.steps, r.tenant, r.id, r.state, r.unmerged, r.stored_apart, r.version, r.context_bytes,
       coalesce(r.context, c.context) AS context
FROM (
  SELECT l.tenant, l.workflow_id, array_agg(given.id) AS job_ids, array_agg(j.step) AS steps
  FROM unnest($1::uuid[], $2::uuid[]) AS given (id, token),
  LATERAL (
    SELECT * FROM millrace.leases l WHERE l.id = given.id AND (l.token = given.token OR given.token IS NULL) OFFSET 0
  ) AS l,
  LATERAL (SELECT j.step FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j
  GROUP BY l.tenant, l.workflow_id
  ORDER BY l.workflow_id
) AS held, LATERAL (
  SELECT r.tenant, r.id, r.state, r.unmerged, CASE WHEN pg_column_size(r.context) < 4000 THEN r.context END AS context,
         r.context IS NULL AS stored_apart, r.version, r.context_bytes
  FROM millrace.workflow_runs r WHERE r.tenant = held.tenant AND r.id = held.workflow_id FOR UPDATE
) AS r
-- A version stored while this statement waited for the lock is newer than its snapshot, and is not found.
LEFT JOIN LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c
  WHERE r.stored_apart AND c.workflow_id = r.id AND c.version = r.version AND pg_column_size(c.context) < 4000 OFFSET 0
) AS c ON true;

-- name: lock_run
SELECT r.tenant, r.id, r.state, r.unmerged, r.context, r.context IS NULL AS stored_apart, r.version, r.context_bytes
FROM millrace.workflow_runs r WHERE r.tenant = $1 AND r.id = $2
FOR UPDATE;

-- name: contexts_of
-- The contexts of runs as last merged, wherever they are stored.
SELECT r.id, coalesce(r.context, c.context) AS context
FROM unnest($1::text[], $2::uuid[]) AS asked (tenant, id),
LATERAL (SELECT * FROM millrace.workflow_runs r WHERE r.tenant = asked.tenant AND r.id = asked.id OFFSET 0) AS r
LEFT JOIN LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c
  WHERE r.context IS NULL AND c.workflow_id = r.id AND c.version = r.version OFFSET 0
) AS c ON true;

-- name: contexts_of_steps
-- Stored contexts, each returned once, however many jobs name it.
SELECT c.workflow_id, c.version, c.context
FROM unnest($1::uuid[], $2::int[]) AS asked (workflow_id, version),
LATERAL (
  SELECT * FROM millrace.workflow_contexts c
  WHERE c.workflow_id = asked.workflow_id AND c.version = asked.version OFFSET 0
) AS c;

-- name: definitions_of
SELECT w.id, w.definition
FROM unnest($1::text[], $2::uuid[]) AS asked (tenant, id),
LATERAL (SELECT * FROM millrace.workflows w WHERE w.tenant = asked.tenant AND w.id = asked.id OFFSET 0) AS w;

-- name: results_of_steps
SELECT asked.n, d.result
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (workflow_id, step, n),
LATERAL (SELECT * FROM millrace.jobs j WHERE j.workflow_id = asked.workflow_id AND j.step = asked.step OFFSET 0) AS j,
LATERAL (
  SELECT * FROM millrace.done d WHERE d.tenant = j.tenant AND d.status = 'completed' AND d.id = j.id OFFSET 0
) AS d;

-- name: advance_runs
-- The other half of a settlement: the new states of the workflows, and the jobs that become ready as a result. This
-- transaction has locked the rows, so each stays at the ctid where it is found. A null context means unchanged. If a
-- version is given, the context is stored apart under that number, and no longer in the run.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), given AS MATERIALIZED (
  SELECT given.*, w.place
  FROM unnest($1::text[], $2::uuid[], $3::text[], $4::json[], $5::text[], $6::millrace.workflow_status[], $7::int[],
              $8::int[])
    AS given (tenant, id, state, context, unmerged, ending, version, context_bytes),
  LATERAL (
    SELECT r.ctid AS place FROM millrace.workflow_runs r WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0
  ) AS w
), contexts AS (
  INSERT INTO millrace.workflow_contexts (workflow_id, version, context)
  SELECT id, version, context FROM given WHERE version IS NOT NULL
), kept AS (
  UPDATE millrace.workflow_runs r
  SET state = given.state, context = CASE WHEN given.version IS NULL THEN coalesce(given.context, r.context) END,
      version = coalesce(given.version, r.version), context_bytes = given.context_bytes,
      unmerged = given.unmerged::int[], status = 'running', started_at = coalesce(r.started_at, now())
  FROM given
  WHERE r.ctid = ANY (ARRAY(SELECT place FROM given WHERE ending IS NULL)) AND r.id = given.id
), gone AS (
  DELETE FROM millrace.workflow_runs r USING given
  WHERE r.ctid = ANY (ARRAY(SELECT place FROM given WHERE ending IS NOT NULL)) AND r.id = given.id
  -- A step that completed or failed had started, even if no claim marked the workflow.
  RETURNING r.tenant, r.id, given.state, given.ending, coalesce(given.context, r.context) AS context, r.version,
            CASE WHEN given.state ~ '[cf]' THEN coalesce(r.started_at, now()) ELSE r.started_at END AS started_at
), ended AS (
  INSERT INTO millrace.workflow_ends (completed_at, started_at, status, id, tenant, state, context, version)
  SELECT now(), started_at, ending, id, tenant, state, context, version FROM gone
), step AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, given.*
  FROM clock, unnest($9::text[], $10::text[], $11::uuid[], $12::text[], $13::text[], $14::int[], $15::json[],
                     $16::json[], $17::json[], $18::text[], $19::int[], $20::int[])
    AS given (suffix, tenant, workflow_id, queue, task, priority, payload, config, metadata, step, context,
              context_bytes)
), jobs AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, workflow_id,
                             step, context, context_bytes)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step, context, context_bytes
  FROM step
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, size)
  SELECT now, priority, 0, 0, id, tenant, queue, workflow_id,
         millrace.job_size(payload, metadata, NULL, context_bytes)
  FROM step
)
SELECT now FROM clock;

-- name: jobs_of_steps
SELECT id FROM millrace.jobs WHERE workflow_id = $1 AND step = ANY ($2::text[]);

-- name: workflow_of_tenant
SELECT tenant, id, name, definition, metadata, created_at, status, started_at, completed_at, state, context, unmerged
FROM millrace.workflow_records WHERE tenant = $1 AND id = $2;

-- name: owner_of_workflow
SELECT w.tenant FROM millrace.tenants t,
LATERAL (SELECT w.tenant FROM millrace.workflows w WHERE w.tenant = t.tenant AND w.id = $1 OFFSET 0) AS w
WHERE t.bucket = $2;

-- name: workflow_and_jobs
-- A workflow's state and the jobs of its steps in one snapshot, each as JobOfStep names its parts. The context is left
-- out: it may be long, and callers do not need it here.
SELECT w.tenant, w.id, w.definition, w.state, (
  SELECT json_agg(json_build_array(j.step, j.id, rec.status, rec.started_at::text, rec.completed_at::text,
                                   rec.delivery_count, rec.error))
  FROM (SELECT j.step, j.id, j.tenant FROM millrace.jobs j WHERE j.workflow_id = $2 OFFSET 0) AS j,
  LATERAL (
    SELECT r.status, r.started_at, r.completed_at, r.delivery_count, r.error FROM millrace.job_records r
    WHERE r.tenant = j.tenant AND r.id = j.id OFFSET 0
  ) AS rec
) AS jobs
FROM millrace.workflow_records w WHERE w.tenant = $1 AND w.id = $2;

-- name: workflow_and_all
-- The same with everything else that the record of a workflow shows: what an event stream sends.
SELECT w.tenant, w.id, w.name, w.definition, w.metadata, w.created_at, w.status, w.started_at, w.completed_at, w.state,
       w.context, w.unmerged, (
  SELECT json_agg(json_build_array(j.step, j.id, rec.status, rec.started_at::text, rec.completed_at::text,
                                   rec.delivery_count, rec.error))
  FROM (SELECT j.step, j.id, j.tenant FROM millrace.jobs j WHERE j.workflow_id = $2 OFFSET 0) AS j,
  LATERAL (
    SELECT r.status, r.started_at, r.completed_at, r.delivery_count, r.error FROM millrace.job_records r
    WHERE r.tenant = j.tenant AND r.id = j.id OFFSET 0
  ) AS rec
) AS jobs
FROM millrace.workflow_records w WHERE w.tenant = $1 AND w.id = $2;

-- name: marks_of
-- A digest of the state of each watched workflow and its unfinished steps: a different one means that something has
-- changed. What has ended is in the letters of the state. No step is ever in a bundle.
SELECT asked.id, md5(concat_ws(' ', run.status, run.state, run.started_at, (
  SELECT string_agg(concat_ws(' ', job.id, job.place, job.delivery_count, job.retry_count, job.scheduled_at), ','
                    ORDER BY job.id)
  FROM (SELECT j.id FROM millrace.jobs j WHERE j.workflow_id = asked.id OFFSET 0) AS j,
  LATERAL (
    SELECT r.id, 'w' AS place, r.delivery_count, r.retry_count, r.scheduled_at FROM millrace.ready r
    WHERE r.tenant = asked.tenant AND r.id = j.id
    UNION ALL
    SELECT l.id, 'r', l.delivery_count, l.retry_count, NULL FROM millrace.leases l WHERE l.id = j.id
  ) AS job
))) AS mark
FROM unnest($1::text[], $2::uuid[]) AS asked (tenant, id),
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
