-- name: watch
-- Once this row is committed, every statement that begins afterwards records what it does to the job.
INSERT INTO millrace.watches (job_id, stream, expires_at)
VALUES (:job_id, :stream, now() + :secs * interval '1 second');

-- name: watched_job
-- A job and the number of its last recorded transition, in one snapshot: transitions with a higher number happened
-- after the state returned here.
SELECT rec.tenant, rec.id, rec.queue, rec.task, rec.payload, rec.config, rec.metadata, rec.idempotency_key,
       rec.workflow_id, rec.step, rec.context, rec.status, rec.created_at, rec.scheduled_at, rec.started_at,
       rec.completed_at, rec.retry_count, rec.delivery_count, rec.error, rec.result, rec.worker, rec.lease_expires_at,
       rec.progress,
       (SELECT coalesce(max(t.seq), 0) FROM millrace.transitions t WHERE t.job_id = :id)::float8 AS seq,
       (SELECT p.at FROM millrace.progress p WHERE p.job_id = :id) AS progress_at
FROM millrace.job_records rec WHERE rec.tenant = :tenant AND rec.id = :id;

-- name: watched_state
-- The same without what may be large: whether the job is still in a state that is already known.
SELECT rec.id, rec.status, rec.delivery_count, rec.retry_count, rec.scheduled_at, rec.lease_expires_at,
       (SELECT coalesce(max(t.seq), 0) FROM millrace.transitions t WHERE t.job_id = :id)::float8 AS seq,
       (SELECT p.at FROM millrace.progress p WHERE p.job_id = :id) AS progress_at
FROM millrace.job_records rec WHERE rec.tenant = :tenant AND rec.id = :id;

-- name: transitions_since
-- The numbers of new transitions of the jobs that this process watches. The cursor is kept per job, not overall: the
-- transitions of one job commit in order, but those of different jobs need not.
SELECT t.job_id AS id, t.seq::float8 AS seq
FROM unnest(:ids::uuid[], :seen::bigint[]) AS watched (id, seen),
LATERAL (SELECT * FROM millrace.transitions t WHERE t.job_id = watched.id AND t.seq > watched.seen OFFSET 0) AS t
ORDER BY t.seq;

-- name: transition
-- One transition, with its whole job.
SELECT j.tenant, j.id, j.queue, j.task, j.payload, j.config, j.metadata, j.idempotency_key,
       j.workflow_id, j.step, j.created_at,
       t.status, coalesce(t.scheduled_at, j.run_at, j.created_at) AS scheduled_at, t.started_at,
       CASE WHEN t.status IN ('completed', 'failed', 'cancelled') THEN t.at END AS completed_at,
       t.retry_count, t.delivery_count, t.error, t.result, j.context,
       t.worker, t.locked_until AS lease_expires_at, NULL::json AS progress
FROM (SELECT * FROM millrace.transitions t WHERE t.seq = :seq::bigint AND t.job_id = :id OFFSET 0) AS t,
LATERAL (SELECT * FROM millrace.jobs j WHERE j.tenant = :tenant AND j.id = t.job_id OFFSET 0) AS j;

-- name: states_of
-- The current states of the watched jobs, to find out whether a transition was missed.
SELECT rec.id, rec.status, rec.delivery_count
FROM unnest(:tenants::text[], :ids::uuid[]) AS watched (tenant, id), LATERAL (
  SELECT r.id, r.status, r.delivery_count FROM millrace.job_records r
  WHERE r.tenant = watched.tenant AND r.id = watched.id OFFSET 0
) AS rec;

-- name: progress_since
-- What running attempts of the watched jobs have reported since the last look (:seen), each its latest.
SELECT p.job_id AS id, p.at, p.progress, l.delivery_count
FROM unnest(:ids::uuid[], :seen::timestamptz[]) AS watched (id, seen),
LATERAL (
  SELECT p.job_id, p.token, p.at, p.progress FROM millrace.progress p
  WHERE p.job_id = watched.id AND p.at > watched.seen OFFSET 0
) AS p,
LATERAL (SELECT l.delivery_count FROM millrace.leases l WHERE l.id = p.job_id AND l.token = p.token OFFSET 0) AS l;

-- name: unwatch
WITH gone AS (DELETE FROM millrace.watches WHERE job_id = :job_id AND stream = :stream)
DELETE FROM millrace.transitions t
WHERE t.job_id = :job_id
  AND NOT EXISTS (SELECT FROM millrace.watches w WHERE w.job_id = :job_id AND w.stream <> :stream);
