-- name: attempts_of_job
-- Where a job is, and its attempts that did not complete, as of one instant. One row at least if the job exists.
SELECT (SELECT greatest(j.run_at, j.created_at) FROM millrace.jobs j WHERE j.tenant = rec.tenant AND j.id = rec.id)
         AS first_due_at,
       rec.status, rec.started_at AS latest_started_at, rec.completed_at, rec.delivery_count,
       coalesce(rec.worker, rec.completed_by) AS latest_worker,
       a.number, a.outcome, a.worker, a.started_at, a.ended_at, a.error, a.details, a.next_retry_at
FROM (
  SELECT r.tenant, r.id, r.status, r.started_at, r.completed_at, r.delivery_count, r.worker, r.completed_by
  FROM millrace.job_records r WHERE r.tenant = :tenant AND r.id = :id
) AS rec
LEFT JOIN LATERAL (
  SELECT a.number, a.outcome, a.worker, a.started_at, a.ended_at, a.error, a.details, a.next_retry_at
  FROM millrace.attempts a WHERE a.tenant = rec.tenant AND a.job_id = rec.id OFFSET 0
) AS a ON true
ORDER BY a.number;

-- name: run_now
-- A waiting job that is not due yet becomes due. Its entry is removed and written anew, as all of `ready` are, so
-- either this or a claim has it. The instant of a job that was claimed before goes along into its lease; that of any
-- other is its own from now on, since a bundle holds no instants. Either way it survives whatever happens to the job.
WITH gone AS (
  DELETE FROM millrace.ready r WHERE r.tenant = :tenant AND r.id = :id AND r.scheduled_at > now()
  RETURNING r.started_at, r.priority, r.retry_count, r.delivery_count, r.id, r.tenant, r.queue, r.workflow_id, r.error,
            r.size
), moved AS (
  INSERT INTO millrace.ready (scheduled_at, started_at, priority, retry_count, delivery_count, id, tenant, queue,
                              workflow_id, error, size)
  SELECT now(), started_at, priority, retry_count, delivery_count, id, tenant, queue, workflow_id, error, size FROM gone
  RETURNING queue, priority, scheduled_at
), own AS (
  UPDATE millrace.jobs j SET run_at = now()
  WHERE j.tenant = :tenant AND j.id = :id AND EXISTS (SELECT FROM gone WHERE delivery_count = 0)
-- include: tell_watchers
)
SELECT queue, priority, scheduled_at, (SELECT count(*) FROM seen)::int AS watched FROM moved;

-- name: run_now_limited
-- The same for a job that may have limits: it joins the line of its first limit, and is let in from there.
WITH gone AS (
  DELETE FROM millrace.ready r WHERE r.tenant = :tenant AND r.id = :id AND r.scheduled_at > now()
-- include: join_line
), own AS (
  UPDATE millrace.jobs j SET run_at = now()
  WHERE j.tenant = :tenant AND j.id = :id AND EXISTS (SELECT FROM gone WHERE delivery_count = 0)
-- include: tell_watchers
)
SELECT queue, priority, scheduled_at, waits_for, (SELECT count(*) FROM seen)::int AS watched FROM moved;

-- name: run_many_now
-- As `run_now_limited`, for many. Jobs that wait for a signal, for children or for the end of a sleep are left alone.
WITH place AS MATERIALIZED (
  SELECT r.at, r.id FROM unnest(:ids::uuid[]) AS given (id), LATERAL (
    SELECT r.ctid AS at, r.id FROM millrace.ready r
    WHERE r.tenant = :tenant AND r.id = given.id AND r.scheduled_at > now() AND r.queue <> 'millrace:waits' OFFSET 0
  ) AS r
  LEFT JOIN LATERAL (
    SELECT true AS waits FROM millrace.waits w WHERE w.job_id = r.id AND w.open LIMIT 1
  ) AS w ON true
  WHERE w.waits IS NULL
), gone AS (
  DELETE FROM millrace.ready r USING place
  WHERE r.ctid = ANY (ARRAY(SELECT at FROM place)) AND r.id = place.id AND r.scheduled_at > now()
-- include: join_line
), own AS (
  UPDATE millrace.jobs j SET run_at = now()
  WHERE j.tenant = :tenant AND j.id = ANY (ARRAY(SELECT id FROM gone WHERE delivery_count = 0))
-- include: tell_watchers
)
SELECT queue, priority, scheduled_at, waits_for, (SELECT count(*) FROM seen)::int AS watched FROM moved;

-- name: standing_of_job
-- What a job that could not be made due is doing instead.
SELECT rec.status, rec.scheduled_at <= now() AS due
FROM millrace.job_records rec WHERE rec.tenant = :tenant AND rec.id = :id;

-- name: last_details
-- Name and stack of the last error of a job.
SELECT a.details FROM millrace.attempts a
WHERE a.tenant = :tenant AND a.job_id = :id AND a.error IS NOT NULL
ORDER BY a.number DESC LIMIT 1;
