-- Contexts by reference. A context that several steps receive, or that is long, is stored once per version; the jobs it
-- was merged for name that version and receive the context of their moment, whatever is merged later. Versions are
-- written by the statement that enqueues those jobs, are never updated, and are removed together with their workflow.

CREATE TABLE millrace.workflow_contexts (
  workflow_id uuid NOT NULL,
  version integer NOT NULL,
  context json NOT NULL,
  PRIMARY KEY (workflow_id, version)
);

-- Of a step whose context is stored apart: which version, and how many bytes it has. Its payload is then an object
-- without white space around it and without a key `_context`, so that composing the two is an insertion before the last
-- brace. Null: there is no context, or it stands in the payload.
ALTER TABLE millrace.jobs ADD COLUMN context integer, ADD COLUMN context_bytes integer;

-- A context counts in the byte budget of a claim for every job that is delivered with it.
DROP FUNCTION millrace.job_size(json, json, text);
CREATE FUNCTION millrace.job_size(payload json, metadata json, error text, context_bytes integer DEFAULT NULL)
RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT nullif(greatest(8191, octet_length(payload::text) + coalesce(octet_length(metadata::text), 0)
    + coalesce(octet_length(error), 0) + coalesce(context_bytes, 0)), 8191)
$$;

-- version: the last one stored. A null context means that this is the current one.
-- context_bytes: what entered the context, the initial context and the results of completed steps, each counted once.
-- A workflow that began before this migration starts at 0: only what enters from now on counts.
ALTER TABLE millrace.workflow_runs
  ALTER COLUMN context DROP NOT NULL,
  ADD COLUMN version integer,
  ADD COLUMN context_bytes integer NOT NULL DEFAULT 0,
  ADD CHECK (context IS NOT NULL OR version IS NOT NULL);

ALTER TABLE millrace.workflow_ends
  ALTER COLUMN context DROP NOT NULL,
  ADD COLUMN version integer,
  ADD CHECK (context IS NOT NULL OR version IS NOT NULL);

CREATE OR REPLACE VIEW millrace.job_records AS
SELECT
  j.tenant, j.id, j.queue, j.task, j.priority, j.payload, j.config, j.metadata, j.idempotency_key, j.workflow_id,
  j.step, j.created_at,
  coalesce(d.status, CASE WHEN coalesce(l.started_at, b.started_at) IS NOT NULL THEN 'running'
                          WHEN r.retry_count > 0 THEN 'retrying'
                          WHEN r.id IS NOT NULL THEN 'pending' END::millrace.job_status) AS status,
  coalesce(r.scheduled_at, l.scheduled_at, d.scheduled_at, j.run_at, j.created_at) AS scheduled_at,
  coalesce(r.started_at, l.started_at, d.started_at, b.started_at) AS started_at,
  d.completed_at,
  coalesce(r.retry_count, l.retry_count, d.retry_count, CASE WHEN b.started_at IS NOT NULL THEN 0 END) AS retry_count,
  coalesce(r.delivery_count, l.delivery_count, d.delivery_count,
           CASE WHEN b.started_at IS NOT NULL THEN 1 END) AS delivery_count,
  coalesce(r.error, l.error, d.error) AS error,
  d.result,
  j.context, j.context_bytes
FROM millrace.jobs j
LEFT JOIN millrace.ready r ON r.tenant = j.tenant AND r.id = j.id
LEFT JOIN millrace.leases l ON l.id = j.id
LEFT JOIN millrace.done d ON d.tenant = j.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = j.id
-- Bundles are few, and looked through only for a job that is nowhere else.
LEFT JOIN LATERAL (
  SELECT b.started_at FROM millrace.bundles b
  WHERE r.id IS NULL AND l.id IS NULL AND d.id IS NULL
    AND b.tenant = j.tenant AND j.id BETWEEN b.first_id AND b.last_id
    AND get_bit(b.open, array_position(b.ids, j.id) - 1) = 1
) AS b ON true;

-- The context is the one that was merged last, wherever it is stored.
CREATE OR REPLACE VIEW millrace.workflow_records AS
SELECT
  w.tenant, w.id, w.name, w.definition, w.metadata, w.created_at,
  coalesce(r.status, e.status) AS status,
  coalesce(r.started_at, e.started_at) AS started_at,
  e.completed_at,
  coalesce(r.state, e.state) AS state,
  coalesce(r.context, e.context, c.context) AS context,
  coalesce(r.unmerged, '{}') AS unmerged
FROM millrace.workflows w
LEFT JOIN millrace.workflow_runs r ON r.tenant = w.tenant AND r.id = w.id
LEFT JOIN millrace.workflow_ends e
  ON e.tenant = w.tenant AND e.status IN ('completed', 'failed', 'partially_failed', 'cancelled') AND e.id = w.id
LEFT JOIN LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c
  WHERE r.context IS NULL AND e.context IS NULL
    AND c.workflow_id = w.id AND c.version = coalesce(r.version, e.version)
  OFFSET 0
) AS c ON true;
