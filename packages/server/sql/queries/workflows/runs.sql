-- name: create_workflows
-- Creates workflows and the jobs of their first steps. A job names its workflow by the workflow's position in the first
-- list. If a version is given, the context is stored apart and the jobs name that version.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), flow AS MATERIALIZED (
  SELECT (clock.prefix || suffix)::uuid AS id, clock.now, given.*
  FROM clock, unnest(:suffixes::text[], :tenants::text[], :names::text[], :definitions::json[], :contexts::json[],
                     :metadata::json[], :states::text[], :versions::int[], :context_bytes::int[], :rules::int[])
    WITH ORDINALITY
    AS given (suffix, tenant, name, definition, context, metadata, state, version, context_bytes, rules, n)
), stored AS (
  INSERT INTO millrace.workflows (created_at, id, tenant, name, definition, metadata)
  SELECT now, id, tenant, name, definition, metadata FROM flow
), begun AS (
  INSERT INTO millrace.workflow_runs (status, id, tenant, state, context, version, context_bytes, rules)
  SELECT 'created', id, tenant, state, CASE WHEN version IS NULL THEN context END, version, context_bytes, rules
  FROM flow
), contexts AS (
  INSERT INTO millrace.workflow_contexts (workflow_id, version, context)
  SELECT id, version, context FROM flow WHERE version IS NOT NULL
), step AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, flow.id AS workflow_id, flow.tenant,
         given.queue, given.task, given.priority, given.payload, given.config, given.metadata, given.step,
         given.context, given.context_bytes, given.limits
  FROM clock, unnest(:job_workflows::int[], :job_suffixes::text[], :job_queues::text[], :job_tasks::text[],
                     :job_priorities::int[], :job_payloads::json[], :job_configs::json[], :job_metadata::json[],
                     :job_steps::text[], :job_contexts::int[], :job_context_bytes::int[], :job_limits::text[])
    AS given (n, suffix, queue, task, priority, payload, config, metadata, step, context, context_bytes, limits)
  JOIN flow ON flow.n = given.n
), jobs AS (
-- include: store_steps
), queued AS (
-- include: queue_steps
), noted AS (
-- include: note_limits
)
SELECT prefix FROM clock;

-- name: lock_runs_of_leases
-- Before the job of a step ends, its workflow is locked, so that a second transaction sees what the first one did.
-- Locks are taken in order of id, so that batches that share workflows queue up and cannot deadlock. Returns one row
-- per workflow, however many of its steps end. A long context is read only when it is needed (contexts_of): most steps
-- that end before a wide fan-in do not need it.
SELECT held.job_ids, held.steps, r.tenant, r.id, r.state, r.unmerged, r.stored_apart, r.version, r.context_bytes,
       coalesce(r.context, c.context) AS context
FROM (
  SELECT l.tenant, l.workflow_id, array_agg(given.id) AS job_ids, array_agg(j.step) AS steps
  FROM unnest(:ids::uuid[], :tokens::uuid[]) AS given (id, token),
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
SELECT r.tenant, r.id, r.state, r.unmerged, r.context, r.context IS NULL AS stored_apart, r.version, r.context_bytes,
       r.resumes
FROM millrace.workflow_runs r WHERE r.tenant = :tenant AND r.id = :id
FOR UPDATE;

-- name: contexts_of
-- The contexts of runs as last merged, wherever they are stored.
SELECT r.id, coalesce(r.context, c.context) AS context
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id),
LATERAL (SELECT * FROM millrace.workflow_runs r WHERE r.tenant = asked.tenant AND r.id = asked.id OFFSET 0) AS r
LEFT JOIN LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c
  WHERE r.context IS NULL AND c.workflow_id = r.id AND c.version = r.version OFFSET 0
) AS c ON true;

-- name: definitions_of
SELECT w.id, w.definition
FROM unnest(:tenants::text[], :ids::uuid[]) AS asked (tenant, id),
LATERAL (SELECT * FROM millrace.workflows w WHERE w.tenant = asked.tenant AND w.id = asked.id OFFSET 0) AS w;

-- name: results_of_steps
SELECT asked.n, d.result
FROM unnest(:workflow_ids::uuid[], :steps::text[]) WITH ORDINALITY AS asked (workflow_id, step, n),
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
  FROM unnest(:tenants::text[], :ids::uuid[], :states::text[], :contexts::json[], :unmerged::text[],
              :endings::millrace.workflow_status[], :versions::int[], :context_bytes::int[])
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
            r.rules,
            CASE WHEN given.state ~ '[cf]' THEN coalesce(r.started_at, now()) ELSE r.started_at END AS started_at
), ended AS (
  INSERT INTO millrace.workflow_ends (completed_at, started_at, status, id, tenant, state, context, version, rules)
  SELECT now(), started_at, ending, id, tenant, state, context, version, rules FROM gone
), step AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, given.*
  FROM clock, unnest(:job_suffixes::text[], :job_tenants::text[], :job_workflow_ids::uuid[], :job_queues::text[],
                     :job_tasks::text[], :job_priorities::int[], :job_payloads::json[], :job_configs::json[],
                     :job_metadata::json[], :job_steps::text[], :job_contexts::int[], :job_context_bytes::int[],
                     :job_limits::text[])
    AS given (suffix, tenant, workflow_id, queue, task, priority, payload, config, metadata, step, context,
              context_bytes, limits)
), jobs AS (
-- include: store_steps
), queued AS (
-- include: queue_steps
), noted AS (
-- include: note_limits
)
SELECT now FROM clock;

-- name: resume_run
-- An ended workflow goes on: this transaction has locked its end and set aside the jobs of the steps that are reset
-- (:earlier_jobs). Their dead letters count as replayed, by the first job that is created here. If a version is given,
-- the context is stored apart under it, as in advance_runs; :start is the version that a later resume begins with, and
-- :start_context its text if it is new.
WITH clock AS MATERIALIZED (
  SELECT now() AS now, millrace.id_prefix(now()) AS prefix
), gone AS (
  DELETE FROM millrace.workflow_ends e
  WHERE e.tenant = :tenant AND e.status = :status::millrace.workflow_status AND e.id = :id
  RETURNING e.started_at, e.rules
), begun AS (
  INSERT INTO millrace.workflow_runs
    (started_at, status, id, tenant, state, context, version, context_bytes, resumes, rules)
  SELECT started_at, CASE WHEN started_at IS NULL THEN 'created' ELSE 'running' END::millrace.workflow_status, :id,
         :tenant, :state, CASE WHEN :version::int IS NULL THEN :context::json END, coalesce(:version, :last_version),
         :context_bytes, :run, rules
  FROM gone
), contexts AS (
  INSERT INTO millrace.workflow_contexts (workflow_id, version, context)
  SELECT :id::uuid, :start::int, :start_context::json WHERE :start_context::json IS NOT NULL
  UNION ALL
  SELECT :id, :version, :context WHERE :version IS NOT NULL
), resumed AS (
  INSERT INTO millrace.workflow_resumes (at, run, start, workflow_id, id, steps)
  SELECT now, :run, :start, :id, (prefix || :suffix)::uuid, :steps::int[] FROM clock
), step AS MATERIALIZED (
  SELECT (clock.prefix || given.suffix)::uuid AS id, clock.now, :tenant::text AS tenant, :id::uuid AS workflow_id,
         given.*
  FROM clock, unnest(:job_suffixes::text[], :job_queues::text[], :job_tasks::text[], :job_priorities::int[],
                     :job_payloads::json[], :job_configs::json[], :job_metadata::json[], :job_steps::text[],
                     :job_contexts::int[], :job_context_bytes::int[], :job_limits::text[])
    AS given (suffix, queue, task, priority, payload, config, metadata, step, context, context_bytes, limits)
), jobs AS (
-- include: store_steps
), queued AS (
-- include: queue_steps
), noted AS (
-- include: note_limits
), letters AS (
  UPDATE millrace.dead_letters d
  SET replayed_at = clock.now, replay_job_id = (clock.prefix || :first_suffix::text)::uuid
  FROM clock
  WHERE d.job_id = ANY (:earlier_jobs::uuid[]) AND d.replayed_at IS NULL AND :first_suffix::text IS NOT NULL
)
SELECT prefix FROM clock;

-- name: jobs_of_steps
SELECT id FROM millrace.jobs WHERE workflow_id = :workflow_id AND step = ANY (:steps::text[]);

-- fragment: store_steps
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, workflow_id,
                             step, context, context_bytes, limits)
  SELECT now, priority, id, tenant, queue, task, payload, config, metadata, workflow_id, step, context, context_bytes,
         limits::uuid[]
  FROM step

-- fragment: queue_steps
-- A step with limits joins the line of its first one, and is let in from there.
  INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id,
                              later, size, limits, waits_for)
  SELECT now, priority, 0, 0, id, tenant, queue, workflow_id, CASE WHEN limits IS NOT NULL THEN false END,
         millrace.job_size(payload, metadata, NULL, context_bytes), limits::uuid[], (limits::uuid[])[1]
  FROM step

-- fragment: note_limits
-- Each of its limits hears of it: the numbers are those of the newest job that names one, in whose line it is or not.
  INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
  SELECT 0, each.id, step.id, step.tenant FROM step, unnest(step.limits::uuid[]) AS each (id)
