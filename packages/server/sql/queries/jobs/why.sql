-- Why a job does not run.

-- name: circumstances_of_job
-- The state of a job, and what is known of its queue, as of one instant.
SELECT now() AS now, rec.id, rec.queue, rec.task, rec.priority, rec.status, rec.scheduled_at, rec.started_at,
       rec.completed_at, rec.delivery_count, rec.worker, rec.lease_expires_at, rec.error, q.paused_at, q.last_lease_at,
       EXISTS (SELECT FROM millrace.queue_limits g WHERE g.queue = rec.queue) AS gated
FROM millrace.job_records rec
LEFT JOIN LATERAL (
  SELECT q.paused_at, q.last_lease_at FROM millrace.queues q WHERE q.queue = rec.queue OFFSET 0
) AS q ON true
WHERE rec.tenant = :tenant AND rec.id = :id;

-- name: count_ahead
-- How many due jobs of a queue are claimed before this one (:priority, :scheduled_at, :id), of all tenants, counted up
-- to :max_jobs: those of higher priorities, the earlier ones of its own, and what fell due and was not moved into claim
-- order yet.
SELECT least(:max_jobs::int, (SELECT count(*) FROM (
  SELECT FROM millrace.ready r
  WHERE r.queue = :queue AND r.later IS NULL AND r.priority > :priority::int AND r.scheduled_at <= now()
  LIMIT :max_jobs::int
) AS higher) + (SELECT count(*) FROM (
  SELECT FROM millrace.ready r
  WHERE r.queue = :queue AND r.later IS NULL AND r.priority = :priority::int
    AND (r.scheduled_at, r.id) < (:scheduled_at::timestamptz, :id::uuid)
  LIMIT :max_jobs::int
) AS earlier) + (SELECT count(*) FROM (
  SELECT r.priority, r.scheduled_at, r.id FROM millrace.ready r
  WHERE r.queue = :queue AND r.later AND r.scheduled_at <= now() ORDER BY r.scheduled_at, r.id LIMIT :max_jobs::int
) AS fell_due
WHERE fell_due.priority > :priority::int
   OR (fell_due.priority = :priority::int
       AND (fell_due.scheduled_at, fell_due.id) < (:scheduled_at::timestamptz, :id::uuid))))::int AS n;
