-- oldest program: 15
--
-- A record is found by one lookup for each state that it may have ended in. With a list of states (`IN`), PostgreSQL
-- before 17 may leave the states out of the lookup, and go through all that the tenant has finished. The columns of
-- both views stay as they are.
CREATE OR REPLACE VIEW millrace.job_records AS
SELECT
  j.tenant, j.id, j.queue, j.task, j.priority, j.payload, j.config, j.metadata, j.idempotency_key, j.workflow_id,
  j.step, j.created_at,
  coalesce(c.status, f.status, x.status,
           CASE WHEN coalesce(l.started_at, b.started_at) IS NOT NULL THEN 'running'
                WHEN r.retry_count > 0 THEN 'retrying'
                WHEN r.id IS NOT NULL THEN 'pending' END::millrace.job_status) AS status,
  coalesce(r.scheduled_at, l.scheduled_at, c.scheduled_at, f.scheduled_at, x.scheduled_at, j.run_at,
           j.created_at) AS scheduled_at,
  coalesce(r.started_at, l.started_at, c.started_at, f.started_at, x.started_at, b.started_at) AS started_at,
  coalesce(c.completed_at, f.completed_at, x.completed_at) AS completed_at,
  coalesce(r.retry_count, l.retry_count, c.retry_count, f.retry_count, x.retry_count,
           CASE WHEN b.started_at IS NOT NULL THEN 0 END) AS retry_count,
  coalesce(r.delivery_count, l.delivery_count, c.delivery_count, f.delivery_count, x.delivery_count,
           CASE WHEN b.started_at IS NOT NULL THEN 1 END) AS delivery_count,
  coalesce(r.error, l.error, c.error, f.error, x.error) AS error,
  coalesce(c.result, f.result, x.result) AS result,
  j.context, j.context_bytes,
  coalesce(l.worker, b.worker) AS worker,
  coalesce(l.locked_until, b.locked_until) AS lease_expires_at,
  p.progress
FROM millrace.jobs j
LEFT JOIN millrace.ready r ON r.tenant = j.tenant AND r.id = j.id
LEFT JOIN millrace.leases l ON l.id = j.id
LEFT JOIN millrace.done c ON c.tenant = j.tenant AND c.status = 'completed' AND c.id = j.id
LEFT JOIN millrace.done f ON f.tenant = j.tenant AND f.status = 'failed' AND f.id = j.id
LEFT JOIN millrace.done x ON x.tenant = j.tenant AND x.status = 'cancelled' AND x.id = j.id
-- Bundles are few, and looked through only for a job that is nowhere else.
LEFT JOIN LATERAL (
  SELECT b.started_at, b.locked_until, b.worker FROM millrace.bundles b
  WHERE r.id IS NULL AND l.id IS NULL AND c.id IS NULL AND f.id IS NULL AND x.id IS NULL
    AND b.tenant = j.tenant AND j.id BETWEEN b.first_id AND b.last_id
    AND get_bit(b.open, array_position(b.ids, j.id) - 1) = 1
) AS b ON true
LEFT JOIN millrace.progress p ON p.job_id = j.id AND p.token = l.token;

-- Workflows that have ended are fewer than jobs, and so are those who look at them: here a lookup after the other, in
-- the order in which most of them end, is short enough.
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
LEFT JOIN LATERAL (
  SELECT e.*
  FROM unnest('{completed,failed,partially_failed,cancelled}'::millrace.workflow_status[]) AS ended (status),
  LATERAL (
    SELECT * FROM millrace.workflow_ends e WHERE e.tenant = w.tenant AND e.status = ended.status AND e.id = w.id
    OFFSET 0
  ) AS e
  LIMIT 1
) AS e ON true
LEFT JOIN LATERAL (
  SELECT c.context FROM millrace.workflow_contexts c
  WHERE r.context IS NULL AND e.context IS NULL
    AND c.workflow_id = w.id AND c.version = coalesce(r.version, e.version)
  OFFSET 0
) AS c ON true;
