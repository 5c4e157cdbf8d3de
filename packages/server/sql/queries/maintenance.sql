-- name: take_turn
-- True for one process a period: the others find the loop already run. What it guards is harmless to run twice.
INSERT INTO millrace.loops (name, last_run_at) VALUES ($1, now())
ON CONFLICT (name) DO UPDATE SET last_run_at = now()
WHERE loops.last_run_at <= now() - $2 * interval '1 second'
RETURNING name;

-- name: forget_streams
-- Watches that their process did not live to take back, and transitions that nobody watches any more.
WITH stale AS (DELETE FROM millrace.watches WHERE expires_at < now())
DELETE FROM millrace.transitions t
WHERE t.at < now() - interval '1 minute'
  AND NOT EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = t.job_id AND w.expires_at >= now());

-- name: expire_jobs
-- Finished jobs outside the window, a batch at a time, with their keys. A job that ended before the cut was also created before it, and
-- ids sort by creation: the walk along (tenant, status, id) ends at the cut, and needs no index on completed_at. Jobs of a
-- workflow stay as long as the workflow does.
WITH cut AS (
  SELECT now() - $1::float8 * interval '1 hour' AS at
), old AS MATERIALIZED (
  SELECT d.tenant, d.id
  FROM cut, millrace.tenants t,
  LATERAL (
    SELECT d.tenant, d.id FROM millrace.done d JOIN millrace.jobs j ON j.tenant = d.tenant AND j.id = d.id
    WHERE d.tenant = t.tenant AND d.status IN ('completed', 'failed', 'cancelled')
      AND d.id < millrace.first_id(cut.at) AND d.completed_at < cut.at AND j.workflow_id IS NULL
    LIMIT $2
  ) AS d
  LIMIT $2
), ended AS (
  DELETE FROM millrace.done d USING old
  WHERE d.tenant = old.tenant AND d.status IN ('completed', 'failed', 'cancelled') AND d.id = old.id
  RETURNING d.tenant, d.id
), removed AS (
  DELETE FROM millrace.jobs j USING ended WHERE j.tenant = ended.tenant AND j.id = ended.id
  RETURNING j.tenant, j.id, j.idempotency_key
), freed AS (
  DELETE FROM millrace.idempotency_keys k USING removed
  WHERE k.tenant = removed.tenant AND k.key = removed.idempotency_key AND k.job_id = removed.id
)
SELECT count(*)::int AS n FROM removed;

-- name: expire_dead_letters
WITH gone AS (
  DELETE FROM millrace.dead_letters WHERE id IN (
    SELECT d.id FROM millrace.tenants t, LATERAL (
      SELECT d.id FROM millrace.dead_letters d
      WHERE d.tenant = t.tenant AND d.created_at < now() - $1::float8 * interval '1 hour'
      ORDER BY d.created_at LIMIT $2
    ) AS d LIMIT $2
  ) RETURNING 1
)
SELECT count(*)::int AS n FROM gone;
