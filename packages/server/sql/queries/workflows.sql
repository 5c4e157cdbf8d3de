-- name: create_workflows
-- Workflows and the jobs of their first steps. A job names its workflow by the workflow's position in the first list.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), flow AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, given.*
  FROM clock, unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::json[], $6::json[], $7::text[])
    WITH ORDINALITY AS given (suffix, tenant, name, definition, context, metadata, state, n)
), stored AS (
  INSERT INTO millrace.workflows (created_at, id, tenant, name, definition, metadata)
  SELECT now, id, tenant, name, definition, metadata FROM flow
), begun AS (
  INSERT INTO millrace.workflow_runs (status, id, tenant, state, context)
  SELECT 'created', id, tenant, state, context FROM flow
), root AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, flow.id AS workflow_id, flow.tenant,
         given.queue, given.task, given.priority, given.payload, given.config, given.metadata, given.step
  FROM clock, unnest($8::int[], $9::text[], $10::text[], $11::text[], $12::int[], $13::json[], $14::json[], $15::json[], $16::text[])
    AS given (n, suffix, queue, task, priority, payload, config, metadata, step)
  JOIN flow ON flow.n = given.n
), jobs AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step FROM root
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, size)
  SELECT now, priority, 0, 0, id, tenant, queue, workflow_id, millrace.job_size(payload, metadata, NULL) FROM root
)
SELECT prefix FROM clock;

-- name: mark_started
-- For people who look: a workflow is running once a step of it was claimed. One that somebody holds is passed over: a claim never waits for
-- a workflow, and whoever holds it marks it too.
UPDATE millrace.workflow_runs r
SET status = 'running', started_at = now()
WHERE r.ctid = ANY (ARRAY(
    SELECT w.place FROM unnest($1::text[], $2::uuid[]) AS claimed (tenant, id),
    LATERAL (SELECT r.ctid AS place FROM millrace.workflow_runs r
             WHERE r.tenant = claimed.tenant AND r.id = claimed.id AND r.status = 'created' FOR NO KEY UPDATE SKIP LOCKED) AS w
  )) AND r.status = 'created';

-- name: lock_runs_of_leases
-- Before the job of a step ends, its workflow is locked: whoever comes second sees what the first one did. Locks are taken in order of
-- id, so that batches that share workflows queue up and never wait in a circle. One row a workflow, however many of its steps end.
-- A long context stays behind until somebody needs it (contexts_of): most endings of a wide fan-in do not.
SELECT mine.job_ids, mine.steps, r.*
FROM (
  SELECT l.tenant, l.workflow_id, array_agg(mine.id) AS job_ids, array_agg(j.step) AS steps
  FROM unnest($1::uuid[], $2::uuid[]) AS mine (id, token),
  LATERAL (SELECT * FROM millrace.leases l WHERE l.id = mine.id AND (l.token = mine.token OR mine.token IS NULL) OFFSET 0) AS l,
  LATERAL (SELECT j.step FROM millrace.jobs j WHERE j.tenant = l.tenant AND j.id = l.id OFFSET 0) AS j
  GROUP BY l.tenant, l.workflow_id
  ORDER BY l.workflow_id
) AS mine, LATERAL (
  SELECT r.tenant, r.id, r.state, r.unmerged, CASE WHEN pg_column_size(r.context) < 4000 THEN r.context END AS context
  FROM millrace.workflow_runs r WHERE r.tenant = mine.tenant AND r.id = mine.workflow_id FOR UPDATE
) AS r;

-- name: lock_run
SELECT r.tenant, r.id, r.state, r.unmerged, r.context
FROM millrace.workflow_runs r WHERE r.tenant = $1 AND r.id = $2
FOR UPDATE;

-- name: contexts_of
SELECT r.id, r.context
FROM unnest($1::text[], $2::uuid[]) AS asked (tenant, id),
LATERAL (SELECT * FROM millrace.workflow_runs r WHERE r.tenant = asked.tenant AND r.id = asked.id OFFSET 0) AS r;

-- name: definitions_of
SELECT w.id, w.definition
FROM unnest($1::text[], $2::uuid[]) AS asked (tenant, id), LATERAL (SELECT * FROM millrace.workflows w WHERE w.tenant = asked.tenant AND w.id = asked.id OFFSET 0) AS w;

-- name: results_of_steps
SELECT asked.n, d.result
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (workflow_id, step, n),
LATERAL (SELECT * FROM millrace.jobs j WHERE j.workflow_id = asked.workflow_id AND j.step = asked.step OFFSET 0) AS j,
LATERAL (SELECT * FROM millrace.done d WHERE d.tenant = j.tenant AND d.status = 'completed' AND d.id = j.id OFFSET 0) AS d;

-- name: advance_runs
-- The other half of a settlement: what became of the workflows, and the jobs that became ready by it. The rows are locked by this
-- transaction, so they stay where they are found.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), given AS MATERIALIZED (
  SELECT given.*, w.place
  FROM unnest($1::text[], $2::uuid[], $3::text[], $4::json[], $5::text[], $6::millrace.workflow_status[])
    AS given (tenant, id, state, context, unmerged, ending),
  LATERAL (SELECT r.ctid AS place FROM millrace.workflow_runs r WHERE r.tenant = given.tenant AND r.id = given.id OFFSET 0) AS w
), kept AS (
  UPDATE millrace.workflow_runs r
  SET state = given.state, context = coalesce(given.context, r.context), unmerged = given.unmerged::int[],
      status = 'running', started_at = coalesce(r.started_at, now())
  FROM given
  WHERE r.ctid = ANY (ARRAY(SELECT place FROM given WHERE ending IS NULL)) AND r.id = given.id
), gone AS (
  DELETE FROM millrace.workflow_runs r USING given
  WHERE r.ctid = ANY (ARRAY(SELECT place FROM given WHERE ending IS NOT NULL)) AND r.id = given.id
  -- A step that completed or failed had started, even if nobody marked it.
  RETURNING r.tenant, r.id, CASE WHEN given.state ~ '[cf]' THEN coalesce(r.started_at, now()) ELSE r.started_at END AS started_at,
            given.state, given.ending, coalesce(given.context, r.context) AS context
), ended AS (
  INSERT INTO millrace.workflow_ends (completed_at, started_at, status, id, tenant, state, context)
  SELECT now(), started_at, ending, id, tenant, state, context FROM gone
), step AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, given.*
  FROM clock, unnest($7::text[], $8::text[], $9::uuid[], $10::text[], $11::text[], $12::int[], $13::json[], $14::json[], $15::json[], $16::text[])
    AS given (suffix, tenant, workflow_id, queue, task, priority, payload, config, metadata, step)
), jobs AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step FROM step
), queued AS (
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, size)
  SELECT now, priority, 0, 0, id, tenant, queue, workflow_id, millrace.job_size(payload, metadata, NULL) FROM step
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
-- A workflow and the jobs of its steps as of one instant: [step, id, status] each.
SELECT w.tenant, w.id, w.name, w.definition, w.metadata, w.created_at, w.status, w.started_at, w.completed_at, w.state,
       w.context, w.unmerged, (
  SELECT json_agg(json_build_array(j.step, j.id, rec.status))
  FROM (SELECT j.step, j.id, j.tenant FROM millrace.jobs j WHERE j.workflow_id = $2 OFFSET 0) AS j,
  LATERAL (SELECT r.status FROM millrace.job_records r WHERE r.tenant = j.tenant AND r.id = j.id OFFSET 0) AS rec
) AS jobs
FROM millrace.workflow_records w WHERE w.tenant = $1 AND w.id = $2;
