-- name: lock_end
-- First statement of a resume. Whoever comes second finds nothing: another resume has taken the row away, or retention.
SELECT e.tenant, e.id, e.status, e.state, e.version
FROM unnest(ARRAY['completed', 'failed', 'partially_failed', 'cancelled']::millrace.workflow_status[])
     AS ending (status),
LATERAL (
  SELECT e.tenant, e.id, e.status, e.state, e.version FROM millrace.workflow_ends e
  WHERE e.tenant = :tenant AND e.status = ending.status AND e.id = :id FOR UPDATE
) AS e;

-- name: last_resume
SELECT r.run, r.start, c.context
FROM (
  SELECT r.run, r.start FROM millrace.workflow_resumes r WHERE r.workflow_id = :id ORDER BY r.run DESC LIMIT 1
) AS r,
LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c WHERE c.workflow_id = :id AND c.version = r.start OFFSET 0
) AS c;

-- name: steps_of_resume
SELECT steps FROM millrace.workflow_resumes WHERE workflow_id = :workflow_id AND id = :id;

-- name: start_of_workflow
-- What a root step received: its context is in its payload, or stored apart.
SELECT j.payload, c.context
FROM (
  SELECT j.payload, j.context FROM millrace.jobs j WHERE j.workflow_id = :id AND j.step = :step OFFSET 0
) AS j
LEFT JOIN LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c WHERE c.workflow_id = :id AND c.version = j.context OFFSET 0
) AS c ON true;

-- name: kept_results
-- The results of completed steps in the order in which they completed, then of their definition.
SELECT asked.n::int, d.result
FROM unnest(:steps::text[]) WITH ORDINALITY AS asked (step, n),
LATERAL (
  SELECT j.tenant, j.id FROM millrace.jobs j WHERE j.workflow_id = :workflow_id AND j.step = asked.step OFFSET 0
) AS j,
LATERAL (
  SELECT d.result, d.completed_at FROM millrace.done d
  WHERE d.tenant = j.tenant AND d.status = 'completed' AND d.id = j.id OFFSET 0
) AS d
ORDER BY d.completed_at, asked.n;

-- name: set_aside
-- The jobs of steps that are reset name their step no longer; what they were is written down.
WITH old AS MATERIALIZED (
  SELECT j.place, j.id, asked.step, earlier.n + 1 AS run
  FROM unnest(:steps::text[]) AS asked (step),
  LATERAL (
    SELECT j.ctid AS place, j.id FROM millrace.jobs j
    WHERE j.workflow_id = :workflow_id AND j.step = asked.step OFFSET 0
  ) AS j,
  LATERAL (
    SELECT count(*) AS n FROM millrace.earlier_jobs e WHERE e.workflow_id = :workflow_id AND e.step = asked.step
  ) AS earlier
), noted AS (
  INSERT INTO millrace.earlier_jobs (run, workflow_id, job_id, step) SELECT run, :workflow_id, id, step FROM old
)
UPDATE millrace.jobs SET step = NULL WHERE ctid = ANY (ARRAY(SELECT place FROM old)) RETURNING id;

-- name: first_context
-- What the workflow was created with, if no root step can tell: those that decide or wait may have no job, or one whose
-- payload has no context.
SELECT c.context FROM millrace.workflow_contexts c WHERE c.workflow_id = :id AND c.version = 1;
