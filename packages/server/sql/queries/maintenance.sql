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

-- name: forget_bundles
-- Rows of which every job was taken out one by one.
DELETE FROM millrace.bundles WHERE position('1' IN open::text) = 0;

-- name: expire_jobs
-- Finished jobs outside the window, a batch at a time, with their keys. A job that ended before the cut was also created before it, and
-- ids sort by creation: the walk along (tenant, status, id) ends at the cut, and needs no index on completed_at. Jobs of a workflow stay
-- as long as the workflow does. None of these rows is ever updated, so each is where it was seen.
WITH cut AS (
  SELECT now() - $1::float8 * interval '1 hour' AS at
), old AS MATERIALIZED (
  SELECT d.place, j.place AS job_place, j.tenant, j.idempotency_key
  FROM cut, millrace.tenants t,
  LATERAL (SELECT unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS status) AS ending,
  LATERAL (
    SELECT d.ctid AS place, d.tenant, d.id FROM millrace.done d
    WHERE d.tenant = t.tenant AND d.status = ending.status AND d.id < millrace.first_id(cut.at) AND d.completed_at < cut.at
    ORDER BY d.id
  ) AS d,
  LATERAL (
    SELECT j.ctid AS place, j.tenant, j.idempotency_key FROM millrace.jobs j
    WHERE j.tenant = d.tenant AND j.id = d.id AND j.workflow_id IS NULL OFFSET 0
  ) AS j
  LIMIT $2
), ended AS (
  DELETE FROM millrace.done WHERE ctid = ANY (ARRAY(SELECT place FROM old))
), removed AS (
  DELETE FROM millrace.jobs WHERE ctid = ANY (ARRAY(SELECT job_place FROM old)) RETURNING 1
), freed AS (
  DELETE FROM millrace.idempotency_keys WHERE ctid = ANY (ARRAY(
    SELECT k.place FROM old,
    LATERAL (SELECT k.ctid AS place FROM millrace.idempotency_keys k WHERE k.tenant = old.tenant AND k.key = old.idempotency_key OFFSET 0) AS k
  ))
)
SELECT count(*)::int AS n FROM removed;

-- name: expire_dead_letters
-- One that is replayed at this very moment may stay until the next time.
WITH gone AS (
  DELETE FROM millrace.dead_letters WHERE ctid = ANY (ARRAY(
    SELECT d.place FROM millrace.tenants t, LATERAL (
      SELECT d.ctid AS place FROM millrace.dead_letters d
      WHERE d.tenant = t.tenant AND d.created_at < now() - $1::float8 * interval '1 hour'
      ORDER BY d.created_at LIMIT $2
    ) AS d LIMIT $2
  )) RETURNING 1
)
SELECT count(*)::int AS n FROM gone;

-- name: expire_workflows
-- Ended workflows outside the window, with the jobs of their steps and the contexts that were stored for those.
WITH cut AS (
  SELECT now() - $1::float8 * interval '1 hour' AS at
), old AS MATERIALIZED (
  SELECT e.tenant, e.id, e.place
  FROM cut, millrace.tenants t,
  LATERAL (SELECT unnest(ARRAY['completed', 'failed', 'partially_failed', 'cancelled']::millrace.workflow_status[]) AS status) AS ending,
  LATERAL (
    SELECT e.ctid AS place, e.tenant, e.id FROM millrace.workflow_ends e
    WHERE e.tenant = t.tenant AND e.status = ending.status AND e.id < millrace.first_id(cut.at) AND e.completed_at < cut.at
    ORDER BY e.id
  ) AS e
  LIMIT $2
), step AS MATERIALIZED (
  SELECT j.place, j.tenant, j.id FROM old,
  LATERAL (SELECT j.ctid AS place, j.tenant, j.id FROM millrace.jobs j WHERE j.workflow_id = old.id OFFSET 0) AS j
), ended AS (
  DELETE FROM millrace.workflow_ends WHERE ctid = ANY (ARRAY(SELECT place FROM old)) RETURNING 1
), removed AS (
  DELETE FROM millrace.workflows WHERE ctid = ANY (ARRAY(
    SELECT w.place FROM old,
    LATERAL (SELECT w.ctid AS place FROM millrace.workflows w WHERE w.tenant = old.tenant AND w.id = old.id OFFSET 0) AS w
  ))
), contexts AS (
  DELETE FROM millrace.workflow_contexts WHERE ctid = ANY (ARRAY(
    SELECT c.place FROM old,
    LATERAL (SELECT c.ctid AS place FROM millrace.workflow_contexts c WHERE c.workflow_id = old.id OFFSET 0) AS c
  ))
), jobs AS (
  DELETE FROM millrace.jobs WHERE ctid = ANY (ARRAY(SELECT place FROM step))
), results AS (
  DELETE FROM millrace.done WHERE ctid = ANY (ARRAY(
    SELECT d.place FROM step,
    LATERAL (SELECT unnest(ARRAY['completed', 'failed', 'cancelled']::millrace.job_status[]) AS status) AS ending,
    LATERAL (SELECT d.ctid AS place FROM millrace.done d WHERE d.tenant = step.tenant AND d.status = ending.status AND d.id = step.id OFFSET 0) AS d
  ))
)
SELECT count(*)::int AS n FROM ended;
