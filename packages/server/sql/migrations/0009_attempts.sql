-- Who runs a job, how its attempts ended, and how far the one that runs has come.

-- The name that a worker gave itself, or that of the process. Leases of remote workers also know queue and task, since
-- the report may reach a process that never saw the job.
ALTER TABLE millrace.leases
  ADD COLUMN worker text,
  ADD COLUMN queue text COLLATE "C",
  ADD COLUMN task text;

ALTER TABLE millrace.bundles ADD COLUMN worker text;

ALTER TABLE millrace.transitions
  ADD COLUMN locked_until timestamptz,
  ADD COLUMN worker text;

CREATE TYPE millrace.attempt_outcome AS ENUM ('failed', 'timed_out', 'lease_expired', 'cancelled', 'released');

-- Attempts that did not complete, by their number (the delivery). The first 20 keep slots 1 to 20; those that follow
-- take turns in slots 21 to 40, so that a job has 40 rows at most, however often it is tried.
CREATE TABLE millrace.attempts (
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  next_retry_at timestamptz,
  number integer NOT NULL,
  slot smallint NOT NULL,
  outcome millrace.attempt_outcome NOT NULL,
  job_id uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  worker text,
  error text,
  details json,
  PRIMARY KEY (tenant, job_id, slot)
);

-- What the running attempt last reported, apart from its lease: so heartbeats stay small, and a row under another token
-- than that of the lease says nothing any more.
CREATE TABLE millrace.progress (
  at timestamptz NOT NULL,
  job_id uuid PRIMARY KEY,
  token uuid NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  progress json NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,
        autovacuum_vacuum_cost_delay = 0);

-- A statement that does not ask for the progress does not join it: job_id is unique, so the planner leaves it out.
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
  j.context, j.context_bytes,
  coalesce(l.worker, b.worker) AS worker,
  coalesce(l.locked_until, b.locked_until) AS lease_expires_at,
  p.progress
FROM millrace.jobs j
LEFT JOIN millrace.ready r ON r.tenant = j.tenant AND r.id = j.id
LEFT JOIN millrace.leases l ON l.id = j.id
LEFT JOIN millrace.done d ON d.tenant = j.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = j.id
-- Bundles are few, and looked through only for a job that is nowhere else.
LEFT JOIN LATERAL (
  SELECT b.started_at, b.locked_until, b.worker FROM millrace.bundles b
  WHERE r.id IS NULL AND l.id IS NULL AND d.id IS NULL
    AND b.tenant = j.tenant AND j.id BETWEEN b.first_id AND b.last_id
    AND get_bit(b.open, array_position(b.ids, j.id) - 1) = 1
) AS b ON true
LEFT JOIN millrace.progress p ON p.job_id = j.id AND p.token = l.token;
