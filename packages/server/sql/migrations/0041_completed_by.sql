-- oldest program: 15
--
-- Who completed a job (docs/adr/0051-who-completed-a-job.md). Of other ends, the attempts tell. The column comes last,
-- where it costs nothing as long as it is null.
ALTER TABLE millrace.done ADD COLUMN worker text;

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
  p.progress,
  c.worker AS completed_by
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
