-- Why a job does not run.

-- name: circumstances_of_job
-- The state of a job, and what is known of its queue, as of one instant.
SELECT now() AS now, rec.id, rec.queue, rec.priority, rec.status, rec.scheduled_at, rec.started_at, rec.completed_at,
       rec.delivery_count, rec.worker, rec.lease_expires_at, q.paused_at, q.last_lease_at
FROM millrace.job_records rec
LEFT JOIN LATERAL (
  SELECT q.paused_at, q.last_lease_at FROM millrace.queues q WHERE q.queue = rec.queue OFFSET 0
) AS q ON true
WHERE rec.tenant = $1 AND rec.id = $2;

-- name: count_ahead
-- How many due jobs of a queue ($1) are claimed before this one ($2 priority, $3 instant, $4 id), of all tenants,
-- counted up to $5: those of higher priorities, the earlier ones of its own, and what fell due and was not moved into
-- claim order yet.
SELECT least($5::int, (SELECT count(*) FROM (
  SELECT FROM millrace.ready r
  WHERE r.queue = $1 AND r.later IS NULL AND r.priority > $2::int AND r.scheduled_at <= now() LIMIT $5::int
) AS higher) + (SELECT count(*) FROM (
  SELECT FROM millrace.ready r
  WHERE r.queue = $1 AND r.later IS NULL AND r.priority = $2::int
    AND (r.scheduled_at, r.id) < ($3::timestamptz, $4::uuid)
  LIMIT $5::int
) AS earlier) + (SELECT count(*) FROM (
  SELECT r.priority, r.scheduled_at, r.id FROM millrace.ready r
  WHERE r.queue = $1 AND r.later AND r.scheduled_at <= now() ORDER BY r.scheduled_at, r.id LIMIT $5::int
) AS fell_due
WHERE fell_due.priority > $2::int
   OR (fell_due.priority = $2::int AND (fell_due.scheduled_at, fell_due.id) < ($3::timestamptz, $4::uuid))))::int AS n;
